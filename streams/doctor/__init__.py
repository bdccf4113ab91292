"""Checks of an installation: each reads something of a server and judges it by pure rules, within a deadline."""
