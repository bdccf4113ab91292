"""Commands that measure or compute: benchmarks, evaluations, plans, generated files."""
