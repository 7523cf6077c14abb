"""Simulated sets of swaps for the benchmarks: data in `sets`, rules in `rules`."""
