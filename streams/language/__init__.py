"""Tables by language: marks of sentences, names of months, words of numbers and questions, units.

No other package has such a table (tests/rules/test_language_tables.py). Pure, and without imports of other packages.
"""
