"""Simulations behind the guards; `benchmarks.guards_truth` runs them and writes their tables."""
