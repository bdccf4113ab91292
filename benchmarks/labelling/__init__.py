"""The pages on which people label statements and snippets: `python -m benchmarks label`."""
