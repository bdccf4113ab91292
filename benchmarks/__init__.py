"""Benchmarks of a checkout, by subject: `python -m benchmarks NAME`, whose table is in `__main__`.

What they measured is in README.md beside this file.
"""
