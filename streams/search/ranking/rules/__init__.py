"""Rules about sites and pages: of a person, of an operator (block lists), and about adult pages. Pure."""
