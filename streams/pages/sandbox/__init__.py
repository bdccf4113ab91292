"""Reads strangers' HTML in killable processes (`streams.sandbox`)."""
