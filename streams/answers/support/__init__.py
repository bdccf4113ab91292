"""The support of a model's sentences: what a statement says is kept, and all else is dropped. Pure.

`check` compares a sentence with a statement by their `tokens`, `quantities` and `alignment`.
"""
