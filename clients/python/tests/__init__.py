"""Tests against a real server and a real Postgres, named by the environment:

PETREL_TEST_URL   a Petrel server
PETREL_TEST_DSN   its database, as a role with the rights that `petrel grants` gives; or one without any server

    PYTHONPATH=src python3 -m unittest        runs the tests whose services exist and skips the others

test/clients/python.test.ts starts both and runs everything, on both stores.
"""
