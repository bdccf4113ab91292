"""Runnable benchmarks: `riffle bench NAME`. What they measured is in README.md beside this file."""
