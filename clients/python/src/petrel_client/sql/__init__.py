"""Petrel by plain SQL on its Postgres tables, through psycopg2."""
