"""Servers that benchmarks and tests talk to."""
