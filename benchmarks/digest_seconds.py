"""The seconds that a digest takes, by whichever agentic is on the path.

    python benchmarks/digest_seconds.py FILE TOKENS

`benchmarks/digest.py --against` runs it with the tree of an earlier commit. The file has a message
a line, as `agentic.messages.to_plain` returns it.
"""

import json
import sys
import time
from pathlib import Path

from agentic.context.compactors import Digest
from agentic.messages import from_plain

RUNS = 5


def main() -> None:
    """Print the processor time of the fastest of a few runs, after one that is not measured."""
    file, tokens = sys.argv[1:]
    lines = Path(file).read_text(encoding="utf-8").split("\n")
    messages = [from_plain(json.loads(line)) for line in lines if line]
    digest = Digest(max_tokens=int(tokens))
    seconds = []
    for _ in range(RUNS + 1):
        start = time.process_time()
        digest.write(messages)
        seconds.append(time.process_time() - start)
    print(min(seconds[1:]))


if __name__ == "__main__":
    main()
