"""Follows the README word for word in a fresh clone: every command in a block marked console.

    python tests/fresh_clone.py

Part of `make test-all`. What is committed is cloned, so commit first.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Clone, and run each command; the first that fails ends it."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        for block in BLOCK.findall((clone / "README.md").read_text()):
            for command in block.splitlines():
                print(f"$ {command}", flush=True)
                subprocess.run(command, shell=True, cwd=clone, check=True)  # noqa: S602  as typed
    print("README: every command did what it says", file=sys.stderr)


if __name__ == "__main__":
    main()
