"""Petrel over HTTP, with nothing but the standard library."""
