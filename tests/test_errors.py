import copy
import inspect
import pickle
import re

import pytest

from agentic import errors
from agentic.errors import (
    AgenticError,
    BoundReasoning,
    CompactionRefused,
    ConfigError,
    ContextOverflow,
    HistoryChanged,
    HistoryConflict,
    HistoryCorrupt,
    HistoryError,
    HistoryNotWritten,
    HistoryTooNew,
    HistoryUnavailable,
    IncompleteReply,
    MessageNotFound,
    NothingToRestore,
    OutputNotFound,
    ProviderError,
    RequestFailed,
    SessionNotFound,
)

CLASSES = {
    name: thing
    for name, thing in vars(errors).items()
    if inspect.isclass(thing) and thing.__module__ == errors.__name__
}
EXAMPLES = [
    ConfigError("max_lines", -1, "a whole number above 0 or None", "pass None for all"),
    ContextOverflow("a-model", 9_000, 8_192),
    ContextOverflow("a-model"),
    IncompleteReply("The build is"),
    RequestFailed("an address", 503, "try again later"),
    RequestFailed("an address", None, "the connection was refused"),
    HistoryConflict("session.jsonl"),
    HistoryCorrupt("session.jsonl", 120, "no JSON"),
    HistoryTooNew("session.jsonl", 120, "an entry of type 'splice'"),
    HistoryNotWritten("session.jsonl", "the disk is full"),
    NothingToRestore("session.jsonl"),
    CompactionRefused("the summary is empty"),
    HistoryUnavailable("session.jsonl", "the server is gone"),
    OutputNotFound("session.jsonl", "out-0123456789abcdef"),
    SessionNotFound("monday", "sessions.db"),
    MessageNotFound("session.jsonl", "m1"),
    HistoryChanged(),
    BoundReasoning("an address", 400, "the block is bound to a different conversation."),
]


def _drawn() -> dict[str, str]:
    """Read the tree in the docstring: every class and the one it hangs below."""
    parents: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").split("\n"):
        found = re.match(r"^ {4}((?:[│ ]   |[├└]── )*)([A-Z]\w+)", line)
        if found and (found[1] or found[2] == "AgenticError"):
            depth = len(found[1]) // 4
            path[depth:] = [found[2]]
            parents[found[2]] = path[depth - 1] if depth else "Exception"
    return parents


def test_docstrings_tree_is_the_tree() -> None:
    """Every class is drawn, below its first base, and nothing else is."""
    assert _drawn() == {name: kind.__bases__[0].__name__ for name, kind in CLASSES.items()}


def test_every_error_is_public() -> None:
    """The names are sorted and exact."""
    assert sorted(CLASSES) == errors.__all__


def test_every_error_is_tried_here() -> None:
    """A new one comes with an example; the branches are caught, not raised."""
    branches = {AgenticError, ProviderError, HistoryError}

    assert {type(error) for error in EXAMPLES} == set(CLASSES.values()) - branches


@pytest.mark.parametrize("error", EXAMPLES, ids=repr)
def test_an_error_survives_pickling_and_copying(error: AgenticError) -> None:
    """It can come back from another process, and says the same there."""
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301  our own
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert again.args == error.args


@pytest.mark.parametrize("error", EXAMPLES, ids=repr)
def test_one_root_catches_everything(error: AgenticError) -> None:
    """And a `raise ... from` keeps the cause."""
    cause = OSError("the disk is gone")

    with pytest.raises(AgenticError) as caught:
        raise error from cause

    assert caught.value.__cause__ is cause


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            EXAMPLES[0],
            "max_lines must be a whole number above 0 or None, got -1; pass",
        ),
        (EXAMPLES[1], "'a-model' accepts 8192 tokens, the request has 9000: give the Runner a"),
        (EXAMPLES[2], "'a-model' accepts fewer tokens, the request has more: give the Runner a"),
        (EXAMPLES[3], "the stream ended after 12 characters and without a Decision: yield one as"),
        (EXAMPLES[4], "an address did not serve the request (HTTP 503): try again later"),
        (EXAMPLES[5], "an address did not serve the request (no answer): the connection was ref"),
        (EXAMPLES[6], "session.jsonl is in use by another writer: wait until that run is"),
        (
            EXAMPLES[7],
            "session.jsonl cannot be read at byte 120: no JSON. Nothing was changed: if",
        ),
        (EXAMPLES[8], "session.jsonl needs a newer version of agentic-weave, which knows an entry"),
        (EXAMPLES[9], "session.jsonl was not written: the disk is full. The session is as it was"),
        (EXAMPLES[10], "session.jsonl has no compaction to undo: full() has every message"),
        (EXAMPLES[11], "not compacted: the summary is empty; the history is unchanged"),
        (EXAMPLES[12], "session.jsonl is not available: the server is gone"),
        (EXAMPLES[13], "session.jsonl keeps no output out-0123456789abcdef: look for the refere"),
        (EXAMPLES[15], "session.jsonl has no message with the id 'm1': look in full()"),
        (EXAMPLES[14], "sessions.db holds no session 'monday': list the sessions to see their"),
        (
            EXAMPLES[17],
            "an address refused reasoning that belongs to another conversation (HTTP 400)",
        ),
        (EXAMPLES[16], "the summary was not used: another summary or an edit of the history"),
    ],
)
def test_error_shows_value_and_remedy(error: AgenticError, said: str) -> None:
    """The whole is one sentence or two."""
    assert str(error).startswith(said)


def test_config_error_is_a_value_error() -> None:
    """Code that knows nothing of this library catches it."""
    with pytest.raises(ValueError, match=r"max_lines must be .*, got -1"):
        raise EXAMPLES[0]


def test_huge_argument_does_not_fill_screen() -> None:
    """What was given is shown in short, its lone surrogates escaped."""
    said = str(ConfigError("content", ["\ud83d" * 10_000] * 10_000, "a str", "decode it"))

    assert len(said) < 500
    said.encode("utf-8")


def test_what_cannot_be_shown_is_named() -> None:
    """An argument whose repr raises does not hide the error."""

    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    assert "int" in str(ConfigError("max_turns", [10**5000], "smaller", "pass that"))
    assert "Shy instance" in str(ConfigError("given", Shy(), "anything else", "pass that"))
