"""The promises of every adapter, as one check that any test runner can call."""
