"""The labs: a page taken apart, for people who miss a text."""
