"""The cost of importing: processor time of a fresh interpreter, compared with `import attrs`.

The interpreters run alternately, and the best run of each is reported. Byte code is first written
to a separate folder, as in an installation. With `--rooms` every subpackage is measured.

    python benchmarks/import_time.py [--rooms]
"""

import os
import resource
import subprocess
import sys
import tempfile

RUNS = 30
STATEMENTS = [
    "pass",
    "import agentic",
    "import attrs",
    "import asyncio",
    "import agentic.truncate",
    "import agentic.loop",
    "from agentic.loop import Runner",
    "import agentic.session",
    "from agentic.__main__ import main; import sys; sys.argv[1:] = ['--version']; main()",
]
ROOMS = """errors limits usage messages tokens events context.strategies context.compactors
    context.budget context.view history history.sqlite tools providers bridges.dicts app.replay
    app.config app.cli testing"""


def main() -> None:
    """Print the milliseconds in excess of the bare interpreter, and the ratio to attrs."""
    statements = [*STATEMENTS]
    if "--rooms" in sys.argv:
        statements += [f"import agentic.{room}" for room in ROOMS.split()]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for statement in statements:
            cost(statement, environment)
        best = dict.fromkeys(statements, float("inf"))
        for _ in range(RUNS):
            for statement in statements:
                best[statement] = min(best[statement], cost(statement, environment))
    bare = best["pass"]
    attrs = best["import attrs"] - bare
    print(f"bare interpreter {bare * 1e3:.1f} ms; over it:")
    for statement in statements[1:]:
        over = best[statement] - bare
        name = "agentic --version" if "--version" in statement else statement
        print(f"{name:34} {over * 1e3:6.1f} ms {over / attrs:6.2f} of import attrs")


def cost(statement: str, environment: dict[str, str]) -> float:
    """Run a statement in a fresh interpreter and return its processor time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", statement]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
