"""Every recorded error and reply beside the checkout, read for overflows."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.providers.overflow import is_context_overflow, read_overflow

pytestmark = pytest.mark.corpus


def test_every_error_is_read_as_labelled(
    traffic: Callable[..., list[dict[str, Any]]],
) -> None:
    """As plain data and as a text; the sizes that are read are sizes that it names."""
    errors = traffic("overflow_errors.jsonl")

    for error in errors:
        got = read_overflow(error["body"])
        assert (got is not None) is (error["label"] != "not_overflow"), error
        assert read_overflow(json.dumps(error["body"])) == got
        if got is not None:
            named = {size for size in (got.sent, got.window) if size is not None}
            assert named == set(error["numbers"])


def test_other_errors_are_no_overflow(
    traffic: Callable[..., list[dict[str, Any]]],
) -> None:
    """Errors about anything else stay what they are."""
    bodies = [error["body"] for error in traffic("errors_index.jsonl")]

    assert [body for body in bodies if is_context_overflow(body)] == []


def test_recorded_answers_are_no_overflow(
    recorded_path: Callable[[str], Path], traffic: Callable[..., list[dict[str, Any]]]
) -> None:
    """Neither a reply, nor a stream, nor an error that some test provoked on purpose."""
    recorded = recorded_path("provider_responses")
    files = sorted(set(recorded.glob("*.jsonl")) - set(recorded.glob("*err*.jsonl")))
    answers = [
        value
        for path in files
        for exchange in traffic(path.name)
        for name, value in exchange.items()
        if name.startswith("response")
    ]

    assert answers
    assert [answer for answer in answers if is_context_overflow(answer)] == []
    assert not any(is_context_overflow(json.dumps(answer)) for answer in answers)
