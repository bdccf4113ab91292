"""The order of results: the weight of meaning, which results are left out, and why. Pure functions."""
