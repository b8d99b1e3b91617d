"""Every recorded error and reply beside the checkout, read for overflows."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic.providers.overflow import is_context_overflow, read_overflow

pytestmark = pytest.mark.corpus


@pytest.fixture(scope="module")
def recorded() -> Path:
    """Return the folder with what providers answered."""
    root = next(at for at in Path(__file__).parents if (at / "pyproject.toml").exists())
    data = root.parent / "shared" / "data" / "provider_responses"
    if not data.is_dir():
        pytest.skip("the recorded responses do not lie beside this checkout")
    return data


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in path.read_text("utf-8").split("\n") if line)


def test_every_labelled_error_is_read_as_its_label_says(recorded: Path) -> None:
    """As plain data and as a text; the sizes that are read are sizes that it names."""
    errors = list(_lines(recorded / "overflow_errors.jsonl"))

    for error in errors:
        got = read_overflow(error["body"])
        assert (got is not None) is (error["label"] != "not_overflow"), error
        assert read_overflow(json.dumps(error["body"])) == got
        if got is not None:
            named = {size for size in (got.sent, got.window) if size is not None}
            assert named == set(error["numbers"])


def test_no_other_error_is_taken_for_an_overflow(recorded: Path) -> None:
    """Errors about anything else stay what they are."""
    bodies = [error["body"] for error in _lines(recorded / "errors_index.jsonl")]

    assert [body for body in bodies if is_context_overflow(body)] == []


def test_no_recorded_answer_is_taken_for_an_overflow(recorded: Path) -> None:
    """Neither a reply, nor a stream, nor an error that some test provoked on purpose."""
    files = sorted(set(recorded.glob("*.jsonl")) - set(recorded.glob("*err*.jsonl")))
    answers = [
        value
        for path in files
        for exchange in _lines(path)
        for name, value in exchange.items()
        if name.startswith("response")
    ]

    assert answers
    assert [answer for answer in answers if is_context_overflow(answer)] == []
    assert not any(is_context_overflow(json.dumps(answer)) for answer in answers)
