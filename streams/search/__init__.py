"""The search core: a query in, ranked pages out.

It knows no HTTP, so the gateway, the command line and the evaluation share it.
"""
