"""Values that really changed: sentences of this project's pages, from the history of the project.

A sentence that a commit took out of a page is the earlier one, and the most similar sentence that
it added the later one, if three of five words are the same and each has a number that the other
lacks. The user says the earlier one among twelve sentences of the page that did not change, each in
a message of its own, then the later one, as it is or after "Correction:". The note is so large that
all of it fits: what is missing was left out because something later replaced it.
"""

import asyncio
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

import attrs

from agentic.context.compactors import Digest
from agentic.messages import Message
from benchmarks.retention.shown import CharSize

__all__ = ["Change", "changes_between", "markdown_history"]

ROOT = Path(__file__).resolve().parents[2]
OTHERS = 12
"""So many sentences of the page stand around the earlier one, those nearest to it."""
SIMILAR = 0.6
SHORTEST, LONGEST = 5, 60
"""The words of a sentence that counts."""
SIZE = 20_000
ANNOUNCEMENTS = {"as it is": "", 'after "Correction:"': "Correction: "}
_FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*[-*|#>] )")
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\"])")
_WORD = re.compile(r"\w[\w.,%/-]*\w|\w")


@attrs.frozen
class Change:
    """A sentence of a page, what replaced it, and what stands around it and still holds."""

    earlier: str
    later: str
    others: tuple[str, ...]


def markdown_history() -> Iterator[str]:
    """Yield a row for each way to say the later sentence; none without a history."""
    changes = list(dict.fromkeys(_changes()))
    if not changes:
        yield "The checkout has no history of its pages."
        return
    yield "\n| pages of this project | changed | stale ones kept | newest ones kept | others lost |"
    yield "| --- | --- | --- | --- | --- |"
    for way, words in ANNOUNCEMENTS.items():
        counts: Counter[str] = Counter()
        for change in changes:
            counts.update(_judged(change, words))
        others = f"{counts['lost']} of {counts['others']}"
        yield f"| {way} | {len(changes)} | {counts['stale']} | {counts['newest']} | {others} |"


def changes_between(before: str, after: str) -> Iterator[Change]:
    """Yield the sentences of a page that have another value afterwards.

    >>> [(each.earlier, each.later) for each in changes_between(
    ...     "A run may take 30 seconds in all. It is cheap.", "A run may take 60 seconds in all.")]
    [('A run may take 30 seconds in all.', 'A run may take 60 seconds in all.')]
    """
    old, new = _sentences(before), _sentences(after)
    added = [each for each in new if each not in old]
    stay = [each for each in old if each in new]
    for sentence in old if added else ():
        if sentence in new:
            continue
        likeness = {each: _likeness(sentence, each) for each in added}
        later = max(likeness, key=likeness.__getitem__)
        here, there = _numbers(sentence), _numbers(later)
        if likeness[later] >= SIMILAR and here - there and there - here:
            place = old.index(sentence)
            near = sorted(stay, key=lambda each: abs(old.index(each) - place))[:OTHERS]
            yield Change(sentence, later, tuple(sorted(near, key=old.index)))


def _changes() -> Iterator[Change]:
    for commit in _git("log", "--format=%H", "--no-merges", "--", "*.md").split():
        options = ["--no-commit-id", "--name-only", "-r", "--diff-filter=M"]
        for name in _git("diff-tree", *options, commit, "--", "*.md").split():
            pages = _git("show", f"{commit}^:{name}"), _git("show", f"{commit}:{name}")
            yield from changes_between(*pages)


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def _sentences(page: str) -> list[str]:
    """Return the different sentences of the prose of a page."""
    blocks = _BLOCK.split(_FENCED.sub("", page))
    prose = [" ".join(each.split()) for each in blocks if each.lstrip()[:1] not in "|#"]
    every = [sentence for text in prose for sentence in _END.split(text.lstrip("-*> "))]
    return list(dict.fromkeys(each for each in every if SHORTEST <= len(each.split()) <= LONGEST))


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, _WORD.findall(one), _WORD.findall(other)).ratio()


def _numbers(sentence: str) -> set[str]:
    return {word for word in _WORD.findall(sentence) if any(map(str.isdigit, word))}


def _judged(change: Change, announcement: str) -> Iterator[str]:
    """Yield what counts of one change: what the note has that is stale, and what it lacks."""
    middle = len(change.others) // 2
    texts = [*change.others[:middle], change.earlier, *change.others[middle:]]
    texts.append(f"{announcement}{change.later}")
    messages = [Message("user", text) for text in texts]
    note = _plain(asyncio.run(Digest(max_tokens=SIZE, counter=CharSize()).compact(messages)))
    if _plain(change.earlier) in note:
        yield "stale"
    if _plain(change.later) in note:
        yield "newest"
    for text in change.others:
        yield "others"
        if _plain(text) not in note:
            yield "lost"


def _plain(text: str) -> str:
    return re.sub(r"[\s\\]+", " ", text)
