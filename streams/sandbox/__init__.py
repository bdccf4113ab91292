"""Killable processes for pure functions over strangers' text: parsing, sentence splitting, fingerprints.

A task is a module-level function from bytes to bytes, named `module:function`. The kernel limits its CPU time and
memory, and the process opens no file and no socket, has no secrets in its environment, and starts nothing.
"""
