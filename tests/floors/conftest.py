"""The scripts of `make test-floors` run in environments of their own."""

collect_ignore = ["run.py", "uses.py", "wires.py"]
