"""Answers: their confidence, the choices of a language model, their time, and hostile pages."""
