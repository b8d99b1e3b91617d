"""What importing costs, in processor time of a fresh interpreter beside that of `import attrs`.

The interpreters run in turn and the best run of each counts. Byte code is written to a folder of
its own first, as an installation would have it.

    python benchmarks/import_time.py
"""

import os
import resource
import subprocess
import sys
import tempfile

RUNS = 30
STATEMENTS = ["pass", "import agentic", "import attrs", "import agentic.truncate"]


def main() -> None:
    """Print milliseconds over the bare interpreter, and the ratio to attrs."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for statement in STATEMENTS:
            cost(statement, environment)
        best = dict.fromkeys(STATEMENTS, float("inf"))
        for _ in range(RUNS):
            for statement in STATEMENTS:
                best[statement] = min(best[statement], cost(statement, environment))
    bare = best["pass"]
    attrs = best["import attrs"] - bare
    print(f"bare interpreter {bare * 1e3:.1f} ms; over it:")
    for statement in STATEMENTS[1:]:
        over = best[statement] - bare
        print(f"{statement:24} {over * 1e3:6.1f} ms {over / attrs:6.2f} of import attrs")


def cost(statement: str, environment: dict[str, str]) -> float:
    """Run a statement in a fresh interpreter and return its processor time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
