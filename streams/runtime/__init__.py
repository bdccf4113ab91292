"""How any stage runs: decode, handle, retry, dead-letter, send, acknowledge, measure.

The only place that knows Faust.
"""
