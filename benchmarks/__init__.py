"""Benchmarks of a checkout: `python -m benchmarks NAME`. What they measured is in README.md beside this file."""
