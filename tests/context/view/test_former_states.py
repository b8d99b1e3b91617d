"""A state that an earlier version wrote is read; what a later one wrote is refused.

The files were written by `View.state()` of those versions, after the last request of the messages
that are stored beside it: before epochs (commit 80268017), and with them.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.view import View
from agentic.errors import ConfigError
from agentic.messages import Message, from_plain
from agentic.tokens import CharCounter

_COUNTER = CharCounter(1)
_FOLDER = Path(__file__).parent / "states"


def _view(state: Any) -> View:
    digest = Digest(max_tokens=300, counter=_COUNTER)
    return View(Policy(2_000), counter=_COUNTER, compactor=digest, state=state)


@pytest.mark.parametrize("name", ["before-epochs", "epochs"])
def test_former_state_is_read(name: str) -> None:
    """The summary holds, the sizes are known, and the next summary is the only one."""
    stored = json.loads((_FOLDER / f"{name}.json").read_text())
    talk: list[Message] = [from_plain(each) for each in stored["messages"]]
    view = _view(stored["state"])

    prepared = view.prepare_sync([*talk, Message("user", "Go on.")])

    assert prepared.compaction is None
    assert view.covered == stored["state"]["compaction"]["covered"] > 0
    assert prepared.extends
    assert prepared.messages[0].summary is not None
    assert prepared.messages[-1].content == "Go on."
    again = view.state()["compaction"]
    assert again["summary"] == stored["state"]["compaction"]["summary"]


def test_newer_state_is_refused_with_one_sentence() -> None:
    """It says what wrote it, and not what is in it."""
    stored = json.loads((_FOLDER / "epochs.json").read_text())["state"]

    with pytest.raises(ConfigError) as caught:
        _view({**stored, "v": 2})

    assert str(caught.value) == (
        "state: version 2, written by a newer agentic; this one reads version 1: upgrade, or leave "
        "it out to begin anew"
    )
