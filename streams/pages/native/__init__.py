"""What is done per node of a page, in C where it was built; else in Python, which does the same and is what the tests
hold it to.

The library is built when the package is installed (`build.py`), needs nothing of Python's headers, and is called
through ctypes: a node of the parser's tree or arrays of numbers go in, rows of numbers and one text come back. Each
module has its law beside it: `walk`, `raised`, `prune` and `markers` in `streams.pages` by the same name, `blocks` in
`streams.pages.assemble.builder`, `numbers` in itself.
"""
