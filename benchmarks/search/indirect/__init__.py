"""Indirect questions, and questions of several parts."""
