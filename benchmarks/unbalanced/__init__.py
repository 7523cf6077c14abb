"""Parts of `benchmarks.balance`."""
