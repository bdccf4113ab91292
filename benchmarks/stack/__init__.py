"""The whole pipeline: its speed, the cost of a page, its start, and the capacity of an installation."""
