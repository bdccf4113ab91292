"""The models' own code. Triton's python backend runs it, or this process where there is no Triton.

Imports nothing of Riffle but its errors, so that Triton's image needs little more than this package.
"""
