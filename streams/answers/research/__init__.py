"""A question in steps: its parts, several searches at once, statements for each part, and what stays open.

`parts` divides a question without a model, `dividing` by one. `loop` asks the index round by round. All are pure:
the reads of the index and the requests to the model are arguments.
"""
