"""Answers: their confidence, the check that a page supports them, their time, and hostile pages."""
