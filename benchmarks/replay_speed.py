"""Processor time and memory of a replay, beside one pass of tiktoken and beside another checkout.

    python -m benchmarks.replay_speed [--turns 2000] [--against FOLDER]

A made-up coding session is replayed under the default policies, each run in a process of its own.
`--against` is a checkout of another commit, such as one made by
`git worktree add --detach /tmp/before 80268017`.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_PROGRAM = """
import asyncio, importlib, json, resource, sys, time
try:
    room = importlib.import_module("agentic.app.replay")
except ImportError:  # before the rooms moved
    room = importlib.import_module(".".join(["agentic", "replay"]))
ContextLimits, make_policy = room.ContextLimits, room.make_policy
read_transcripts, replay = room.read_transcripts, room.replay
from agentic import tokens
from agentic.context import budget
path, window = sys.argv[1], int(sys.argv[2])
counter = tokens.for_model("gpt-4o")
counter.count("warm")
start = time.process_time()
[transcript] = read_transcripts(path)
transcript = transcript.mended()
read = time.process_time() - start
limits = ContextLimits(budget.Policy(window), counter)
policies = [make_policy(name, limits) for name in ("none", "fit_window", "tiers", "digest")]
done = asyncio.run(replay(transcript, policies, limits, providers=["anthropic", "openai_chat"]))
whole = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
sizes = [[each.tokens for each in one.requests] for one in done]
print(json.dumps({"read": read, "seconds": whole, "peak": peak, "check": hash(str(sizes)) % 10**9,
    "cuts": [len(one.cuts) for one in done], "invalid": [one.invalid for one in done]}))
"""
_TIKTOKEN = """
import json, sys, time, tiktoken
encoding = tiktoken.get_encoding("o200k_base")
texts = [json.dumps(json.loads(line), ensure_ascii=False) for line in open(sys.argv[1])]
start = time.process_time()
for text in texts:
    encoding.encode(text, disallowed_special=())
print(json.dumps({"seconds": time.process_time() - start}))
"""


def write_session(path: Path, turns: int) -> int:
    """Write a session of chat completions; return its size in bytes."""
    chance = random.Random(34)
    words = [f"{a}_{b}" for a in ("parse", "table", "node", "file") for b in range(400)]
    words += ["the", "of", "a", "to", "in", "is", "and", "return", "def", "class", "import"] * 70
    lines: list[dict[str, Any]] = [
        {"role": "user", "content": "Mend the parser, and then all that it imports."}
    ]
    for number in range(turns):
        if number % 40 == 39:
            lines.append({"role": "user", "content": f"Now module {number}."})
        arguments = json.dumps({"path": f"src/part_{chance.randrange(300)}.py", "line": number})
        function = {"name": chance.choice(["read", "edit", "run"]), "arguments": arguments}
        call = {"id": f"c{number}", "type": "function", "function": function}
        output = "\n".join(
            " ".join(chance.choices(words, k=9)) for _ in range(chance.choice([4, 30, 120]))
        )
        lines += [
            {"role": "assistant", "content": f"Step {number}.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": output},
        ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path.stat().st_size


def run(program: str, arguments: list[str], folder: Path) -> dict[str, float]:
    """Run a program against the package in a folder, and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-c", program, *arguments]
    # From the folder: `python -c` looks for the package in the current one first.
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=2_000)
    parser.add_argument("--window", type=int, default=128_000)
    parser.add_argument("--against", type=Path, help="a checkout of another commit")
    options = parser.parse_args()
    here = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        session = Path(folder) / "session.jsonl"
        size = write_session(session, options.turns)
        print(f"{options.turns:,} turns, {size / 1e6:.1f} MB, window {options.window:,}")
        once = run(_TIKTOKEN, [str(session)], here)["seconds"]
        print(f"one pass of tiktoken: {once:.1f} s")
        before = None
        for name, checkout in (("against", options.against), ("here", here)):
            if checkout is None:
                continue
            done = run(_PROGRAM, [str(session), str(options.window)], checkout)
            print(
                f"{name}: {done['seconds']:.1f} s ({done['read']:.1f} s to read), "
                f"{done['seconds'] / once:.1f} x tiktoken, peak {done['peak'] / 1e6:,.0f} MB "
                f"({done['peak'] / size:.1f} x the file), cuts {done['cuts']}, "
                f"refused {done['invalid']}, sizes {done['check']}"
            )
            before, seconds = (before, done["seconds"]) if name == "here" else (done["seconds"], 0)
        if before is not None:
            print(f"{before / seconds:.1f} times less processor time than before")


if __name__ == "__main__":
    main()
