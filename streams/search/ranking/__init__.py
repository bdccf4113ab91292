"""The order of results: the weight of meaning, and the results that are left out, with the reasons. Pure."""
