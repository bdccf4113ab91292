"""The models' own code: what Triton's python backend runs, and what runs in this process where there is no Triton.

Imports nothing of Riffle but its errors, so that Triton's image needs little more than this package.
"""
