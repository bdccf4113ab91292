"""The runtime of all stages: decode, handle, retry, dead-letter, send, acknowledge, measure.

It is the only package that uses Faust.
"""
