"""Entities found in the index: pages that many sites link to under one name, with the facts that the pages state."""
