"""What is loaded only when somebody needs it."""

import asyncio
from collections.abc import Callable

import pytest

from agentic import history
from agentic._base import _lazy


def test_event_loop_is_the_librarys_own() -> None:
    """Code that uses the stand-in meets the objects that everybody else has."""
    assert _lazy.asyncio.CancelledError is asyncio.CancelledError
    assert isinstance(_lazy.asyncio.Lock(), asyncio.Lock)


def test_runner_loads_nothing_only_runs_need(run_python: Callable[[str], str]) -> None:
    """Neither the event loop nor blinker, views, the stores, logging or OpenSSL."""
    code = (
        "import sys; from agentic.loop import Runner;"
        "print(*{'asyncio', 'agentic.context.view', 'agentic.history', 'agentic.loop._run',"
        "'blinker', 'concurrent.futures', 'hashlib', 'logging'} & sys.modules.keys())"
    )

    assert run_python(code) == ""


def test_view_loads_nothing_only_some_views_need(run_python: Callable[[str], str]) -> None:
    """Neither the cut to a size, nor the picture of a request with the entities of HTML.

    Nor what media cost.
    """
    code = (
        "import sys; from agentic.context import budget, view; view.View(budget.Policy(0));"
        "print(*{'agentic.context.strategies._fit_window', 'agentic.context.view._picture',"
        "'agentic.limits._media_costs', 'agentic.tokens._media', 'html', 'urllib.parse'}"
        "& sys.modules.keys())"
    )

    assert run_python(code) == ""


def test_session_loads_no_log(run_python: Callable[[str], str]) -> None:
    """Few sessions have anything to warn of."""
    code = "import sys, agentic.session; print(*{'logging', 'asyncio'} & sys.modules.keys())"

    assert run_python(code) == ""


def test_name_loads_when_used() -> None:
    """It is the class of its module, and the room lists it."""
    load, names = _lazy.load_lazily("agentic.history", {"JsonlStore": "._jsonl"})

    assert load("JsonlStore") is history.JsonlStore
    assert names() == history.__all__
    assert set(dir(history)) == set(history.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    """As for any other module."""
    with pytest.raises(AttributeError, match=r"module 'agentic\.history' has no attribute 'Jsonl'"):
        _ = history.Jsonl
