"""Compares `limits.lookup` with LiteLLM's map and genai-prices, for every model that they list.

    python benchmarks/limits.py [--all]

Each disagreement has a verdict: who is right, and why, with the page that was read. `--all` lists
every model under its verdict. The exit status is 1 if the catalog has a larger window than another
list and no verdict says that it may: the requests of such a model would be refused.

The catalog alone is compared, without the registry that `lookup` asks where the catalog is silent.
A model that only a registry has gets a line, too: it is answered if `genai-prices` is installed.
"""

import argparse
import importlib.util
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import attrs
from genai_prices.data_snapshot import get_snapshot

from agentic.limits import ModelLimits, lookup
from agentic.limits._lookup import _listed

_CHAT = {"chat", "completion", "responses"}
# LiteLLM writes the maker's own models with the maker's prefix, genai-prices with that of a list.
_NO_CHAT = re.compile(
    r"embed|transcribe|whisper|moderation|rerank|ocr|tts|voyage|guard|image|lyria|sonic|live|orpheus"
)
_ROUNDED = 0.06
"""How far 1,000,000 is from 1,048,576, or 200,000 from 204,800."""


@attrs.frozen
class Row:
    """What one list says of one model."""

    list_name: str
    name: str
    """The name as `lookup` is asked."""
    window: int
    max_output: int
    server: str


@attrs.frozen(order=True)
class Verdict:
    """Who is right, and why."""

    right: str
    reason: str


AGREE = Verdict("both", "the same window")
NEITHER = Verdict("the list", "not in the catalog, and genai-prices, if installed, has none either")
REGISTRY = Verdict("the list", "not in the catalog; answered by genai-prices, if installed")
NEWER = Verdict(
    "the list", "not in the catalog; the newest relative is assumed, and a note says so"
)
INPUT = Verdict(
    "catalog",
    "the list has the window, of which the maker limits the input: for example 922,000 of 1,050,000"
    " (https://developers.openai.com/api/docs/models/gpt-6.2-sol.md, 2026-11-27)",
)
COPILOT = Verdict(
    "catalog",
    "the list adds the reply to what Copilot accepts as a prompt, or another list has less"
    " (https://github.com/anomalyco/models.dev/pull/895, read 2026-11-27)",
)
ROUNDED = Verdict("either", "a rounded number, or one server's of several; the smaller is used")
SMALLEST = Verdict(
    "the list, for its server",
    "open weights: the catalog has the smallest window that is common among servers",
)
SERVER_SMALLER = Verdict("either", "two lists differ about this server; the smaller number is used")
NOT_DEPLOYED = Verdict("catalog", "4,096 is what the list has of models that are not deployed")
_NOT_DEPLOYED = 4_096
TOO_LARGE = Verdict("the list", "THE CATALOG HAS MORE: requests would be refused")
OPEN = re.compile(
    r"llama|qwen|qwq|deepseek|gemma|mi[sx]tral|ministral|magistral|devstral|codestral|kimi|glm"
    r"|minimax|gpt-oss|phi-|nemotron|granite|voxtral|pixtral|jamba|palmyra"
)
SPECIAL: tuple[tuple[str, Verdict], ...] = (
    (
        r"gemini-[23]|gpt-4\.1",
        Verdict(
            "catalog",
            "the maker states 1,048,576 and 1,047,576, which the list rounds"
            " (https://ai.google.dev/gemini-api/docs/models/gemini-3.1-pro-preview, 2026-11-21)",
        ),
    ),
    (
        r"^ollama/",
        Verdict("neither", "the window is what the server was started with; its decider asks it"),
    ),
    (
        r"us-gov.*claude-3-haiku",
        Verdict("catalog", "the list leaves out the longest reply: 195,904 and 4,096 are 200,000"),
    ),
    (
        r"codestral-latest",
        Verdict("catalog", "the list has 32,000 of codestral-2405; that of 2025-08 has 128,000"),
    ),
    (
        r"deepseek-(chat|reasoner)",
        Verdict(
            "neither",
            "names that were retired on 2026-07-24; each list has another of their versions"
            " (https://api-docs.deepseek.com/zh-cn/quick_start/pricing, 2026-11-27)",
        ),
    ),
    (
        r"claude-sonnet-4[.-]5|claude-sonnet-4$|claude-sonnet-4@",
        Verdict("catalog", "more than 200,000 need a beta header of the caller"),
    ),
    (
        r"gpt-4o.*(transcribe)|embed",
        Verdict("neither", "no chat model: no adapter calls it"),
    ),
    (
        r"-2512\d\d$|-2511\d\d$|gemma-4-31b-it-ultra|gemma-3n",
        Verdict("the list", "a name without its server, or one of a server; open weights"),
    ),
    (
        r"gpt-3\.5|gpt-35|gpt-4-32k|gpt-4$|gpt-4-0613|gpt-4-o-preview|realtime",
        Verdict("either", "a retired model, of which the lists differ; the smaller is used"),
    ),
    (
        r"grok",
        Verdict("either", "xAI states 1,000,000 or 2,000,000 by list; the smaller is used"),
    ),
)


def main() -> None:
    """Print the verdicts with their counts, and each model with `--all`."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="list every model")
    options = parser.parse_args()
    too_large = sum(compare(rows, every=options.all) for rows in (litellm_rows(), genai_rows()))
    sys.exit(too_large > 0)


def compare(rows: list[Row], *, every: bool) -> int:
    """Print the verdicts about one list; return how many of its windows are exceeded."""
    by_verdict = defaultdict(list)
    for row in rows:
        by_verdict[judge(row)].append(row)
    print(f"\n{rows[0].list_name}: {len(rows)} models with a window")
    for verdict, members in sorted(by_verdict.items(), key=lambda item: -len(item[1])):
        print(f"{len(members):6}  right: {verdict.right}; {verdict.reason}")
        for row in members if every and verdict != AGREE else ():
            limits = _listed(row.name)
            ours = f"{limits.context_window:,}" if limits else "-"
            print(f"          {row.name}: {row.window:,}, the catalog {ours}")
    return len(by_verdict[TOO_LARGE])


def judge(row: Row) -> Verdict:
    """Return who is right about a model."""
    limits = _listed(row.name)
    if limits is None:
        assumed = lookup(row.name)
        return REGISTRY if assumed.known else NEWER if assumed.relative else NEITHER
    if limits.context_window == row.window:
        return AGREE
    name = row.name.lower()
    special = next((verdict for pattern, verdict in SPECIAL if re.search(pattern, name)), None)
    if limits.context_window > row.window:
        return NOT_DEPLOYED if row.window == _NOT_DEPLOYED else special or TOO_LARGE
    return (
        _judge_smaller(limits, row)
        or special
        or (SMALLEST if OPEN.search(name) else SERVER_SMALLER)
    )


def _judge_smaller(limits: ModelLimits, row: Row) -> Verdict | None:
    """Return why the catalog has a smaller window, if the numbers say it."""
    if "copilot" in row.server:
        return COPILOT
    if _is_input(limits, row):
        return INPUT
    return ROUNDED if row.window <= limits.context_window * (1 + _ROUNDED) else None


def _is_input(limits: ModelLimits, row: Row) -> bool:
    """Return whether the list's window is the catalog's input and the longest reply."""
    rest = row.window - limits.context_window
    return rest in {limits.max_output, row.max_output, 78_000, 128_000} and rest > 0


def litellm_rows() -> list[Row]:
    """Return what LiteLLM's map says of the models that a conversation is held with."""
    # Importing LiteLLM would take seconds, and ask the network for a newer map.
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        sys.exit("this comparison needs LiteLLM: pip install 'agentic-weave[litellm]'")
    path = Path(spec.origin).with_name("model_prices_and_context_window_backup.json")
    return list(_litellm_rows(json.loads(path.read_text("utf-8"))))


def _litellm_rows(models: dict[str, dict[str, object]]) -> Iterator[Row]:
    for key, entry in models.items():
        window = entry.get("max_input_tokens") or entry.get("max_tokens")
        if entry.get("mode") in _CHAT and isinstance(window, int):
            most = entry.get("max_output_tokens")
            yield Row(
                "LiteLLM",
                key,
                window,
                most if isinstance(most, int) else 0,
                str(entry.get("litellm_provider")),
            )


def genai_rows() -> list[Row]:
    """Return what genai-prices says of the models that a conversation is held with."""
    return [
        Row("genai-prices", f"{server.id}/{model.id}", model.context_window, 0, server.id)
        for server in get_snapshot().providers
        for model in server.models
        if model.context_window and not _NO_CHAT.search(model.id.lower())
    ]


if __name__ == "__main__":
    main()
