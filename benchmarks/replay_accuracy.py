"""How far a replay's sizes are from what providers recorded, by family of models.

    python -m benchmarks.replay_accuracy FOLDER

FOLDER holds `transcripts/` and `usage_ground_truth/`. Every recorded request is counted as by a
replay that does not know the model, as by one that uses the file's own model, and with the fit to
half of the file's requests; the error is measured on the other half.
"""

import argparse
import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import attrs

from agentic import tokens
from agentic.app.replay import Transcript, read_transcripts
from agentic.app.replay._replay import CountedTranscript
from agentic.usage import Usage

_FILES = {
    "DeepSeek": ("deepseek_calls.jsonl", ""),
    "Claude": ("pi_anthropic_openai_calls.jsonl", "pi_"),
    "GPT-4.1": ("tau2_gpt41_calls.jsonl", ""),
}
_MODELS = {"GPT-4.1": "gpt-4.1"}
"""The model of records that name none."""
_WINDOW = 10_000_000


def with_usage(transcript: Transcript, calls: list[dict[str, Any]]) -> Transcript:
    """Return a transcript whose replies have the recorded usage."""
    messages = list(transcript.messages)
    for call in calls:
        usage, place = call["usage"], call["n_messages_before"]
        size = usage.get("prompt_tokens")
        if size is None:
            size = sum(usage.get(name) or 0 for name in ("input", "cacheRead", "cacheWrite"))
        if size and place < len(messages) and messages[place].role == "assistant":
            messages[place] = attrs.evolve(messages[place], usage=Usage(input=size))
    return attrs.evolve(transcript, messages=tuple(messages))


def errors(transcript: Transcript, model: str) -> tuple[int, float, float] | None:
    """Return the number of requests, and the errors without and with the fit; None if too few."""
    measured = CountedTranscript.of(transcript, tokens.for_model(model)).calibrated(_WINDOW)
    found = measured.calibration
    return (found.requests, found.uncalibrated_error, found.error) if found.requests else None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    print("| family | sessions | requests | model unknown | the file's model | fitted |")
    print("|---|---|---|---|---|---|")
    for family, (name, prefix) in _FILES.items():
        by_file: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for line in (folder / "usage_ground_truth" / name).open():
            call = json.loads(line)
            by_file[prefix + call["file"].removesuffix(".jsonl")].append(call)
        rows = []
        for file, calls in by_file.items():
            [transcript] = read_transcripts(folder / "transcripts" / f"{file}.jsonl")
            model = _MODELS.get(family) or statistics.mode(call["model"] for call in calls)
            recorded = with_usage(transcript, calls)
            default, known = errors(recorded, "default"), errors(recorded, model)
            if default and known:
                rows.append((known[0], default[1], known[1], known[2]))
        requests = sum(row[0] for row in rows)
        medians = " | ".join(
            f"{statistics.median(row[at] for row in rows):.1%}" for at in (1, 2, 3)
        )
        print(f"| {family} | {len(rows)} | {requests:,} | {medians} |")


if __name__ == "__main__":
    main()
