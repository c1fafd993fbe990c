"""Petrel over HTTP, with only the standard library."""
