"""Answers: the statement that answers a question, and statements that a model chooses.

`evidence` reads the results of a search. `confidence`, `choosing` and `disagreement` answer without a model;
`choices` reads what a model chooses. All of them are pure.
"""
