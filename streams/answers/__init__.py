"""Answers: the statement that answers a question, and sentences of a model that are checked against statements.

`evidence` reads the results of a search. `confidence`, `choosing` and `disagreement` answer without a model;
`support` checks the sentences of a model. All of them are pure.
"""
