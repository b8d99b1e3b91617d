"""Continuation: what to run again, what still fails, where things stand, what is left to do."""

import re
from collections.abc import Iterator
from typing import Any

from benchmarks.retention.facts.failures import failures_of
from benchmarks.retention.facts.shell import Simple, simple_commands
from benchmarks.retention.facts.transcript import Call
from benchmarks.retention.probes.probe import (
    MOST,
    SHORTEST_WORDS,
    Cut,
    Probe,
    newest,
    sentences_of,
    spaced,
)

__all__ = ["continuation_probes", "open_todos", "step_of"]

_OF_ERROR = 60
"""So many characters of an error are asked for, as the fact of failures asks for 40."""
_SHOWS = """awk cat cd chmod cp echo export find grep head less ls mkdir mv nl pwd rg rm sed sleep
sort tail tee touch tree true uniq wc which"""
_ONLY_SHOWS = frozenset(_SHOWS.split())
_GIT_SHOWS = frozenset(["status", "diff", "log", "show", "add", "stash", "checkout"])
_LEADS_IN = re.compile(
    r"(?:(?:now|ok|okay|good|great|perfect|alright|done|next|first|then|also|and|so|wait|hmm)\b"
    r"[,.!:]?\s*)*(?:let me|let's|let us|i'll|i will|i'm going to|i need to|here(?:'s| is| are))\b",
    re.IGNORECASE,
)
_DONE = frozenset(
    ["done", "completed", "complete", "closed", "cancelled", "canceled", "deleted", "skipped"]
)
_STATUS_KEYS, _TEXT_KEYS = (
    ("status", "state"),
    ("content", "subject", "title", "text", "task", "step"),
)
_CHECKBOX = re.compile(r"^\s*[-*]\s+\[( |x|X)\]\s+(.+)$", re.MULTILINE)


def continuation_probes(cut: Cut) -> Iterator[Probe]:
    """Yield what asks how to go on."""
    before = {_label(each): raw for call in cut.past_calls for each, raw in _commands(call)}
    after = [_label(each) for call in cut.future_calls for each, _ in _commands(call)]
    for label in list(dict.fromkeys(label for label in after if label in before))[:MOST]:
        yield Probe.saying("command", label, before[label])
    for lines in failures_of(cut.past)[-MOST:]:
        yield Probe.saying("failure", *lines, most=_OF_ERROR)
    if step := step_of(cut.replies):
        yield Probe.saying("step", step)
    for todo in newest(open_todos(cut)):
        yield Probe.saying("todo", todo)


def step_of(replies: list[str]) -> str:
    """Return the newest sentence that states something rather than announces the next call.

    >>> step_of(["The port was wrong. Let me fix it:", "Now let me run the tests:"])
    'The port was wrong.'
    """
    for reply in reversed(replies):
        for sentence in reversed([*sentences_of(reply)]):
            is_long_enough = len(re.findall(r"\w+", sentence)) >= SHORTEST_WORDS
            if is_long_enough and sentence[-1] not in ":?" and not _LEADS_IN.match(sentence):
                return sentence
    return ""


def open_todos(cut: Cut) -> Iterator[str]:
    """Yield the to-dos that are open: of lists that tools hold, of single tasks, of check boxes."""
    listed: list[str] = []
    tasks: dict[str, str] = {}
    for call in cut.past_calls:
        lists = [value for value in call.arguments.values() if isinstance(value, list)]
        items = [item for each in lists for item in each if isinstance(item, dict)]
        if any(key in item for item in items for key in _STATUS_KEYS):
            listed = [text for item in items if (text := _text_of(item)) and not _is_done(item)]
        elif "task" in call.tool.lower() and call.output is not None:
            _read_task(call, tasks)
    yield from [*listed, *tasks.values()]
    boxes = {spaced(text): mark for reply in cut.replies for mark, text in _CHECKBOX.findall(reply)}
    yield from (text for text, mark in boxes.items() if mark == " ")


def _read_task(call: Call, tasks: dict[str, str]) -> None:
    """Note a task that a tool of single tasks created, or forget one that it closed."""
    name = call.tool.lower()
    if "create" in name and (text := _text_of(call.arguments)):
        number = re.search(r"#?(\d+)", call.output or "")
        tasks[number[1] if number else text] = text
    elif "update" in name and _is_done(call.arguments):
        keys = [str(value) for key, value in call.arguments.items() if "id" in key.lower()]
        for key in keys:
            tasks.pop(key.lstrip("#"), None)


def _text_of(item: dict[str, Any]) -> str:
    texts = (item.get(key) for key in _TEXT_KEYS)
    return spaced(next((text for text in texts if isinstance(text, str)), ""))


def _is_done(item: dict[str, Any]) -> bool:
    return any(str(item.get(key, "")).casefold() in _DONE for key in _STATUS_KEYS)


def _commands(call: Call) -> Iterator[tuple[Simple, str]]:
    """Yield the commands of a call that do something, each with a text that a line may quote."""
    for each in simple_commands(call.command):
        is_git = each.program == "git" and set(each.words[1:2]) & _GIT_SHOWS
        shows = each.program in _ONLY_SHOWS or each.piped or bool(is_git)
        if each.words and not shows and not each.body and not each.into and _is_short(each):
            yield each, _as_written(call.command, each)


def _is_short(each: Simple) -> bool:
    return len(_label(each)) <= 100 and all("\n" not in word for word in each.words)


def _label(each: Simple) -> str:
    return " ".join(each.words)


def _as_written(command: str, each: Simple) -> str:
    """Return the command from its first word on as it was written, up to its last word."""
    start = command.find(each.words[0])
    end = command.find(each.words[-1], start)
    text = command[start : end + len(each.words[-1])] if 0 <= start < end else ""
    is_one = text.count("\n") == 0 and len(text) <= len(_label(each)) + len(each.words) * 2
    return text if text and is_one else _label(each)
