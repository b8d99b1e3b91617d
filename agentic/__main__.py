"""What `python -m agentic` runs: the `agentic` command."""

import sys

from agentic.app.cli import main

if __name__ == "__main__":
    sys.exit(main())
