from typing import Any

import click
import pytest

from agentic.cli._truncate import LINES, SIZE


@pytest.mark.parametrize(
    ("spelled", "meant"),
    [
        ("800", 800),
        ("50K", 51_200),
        ("50k", 51_200),
        ("50KB", 51_200),
        ("50kB", 51_200),
        ("50KiB", 51_200),
        ("1M", 1_048_576),
        ("2MB", 2_097_152),
        ("1GiB", 1_073_741_824),
        ("7B", 7),
        ("0", 0),
        ("all", None),
        ("ALL", None),
    ],
)
def test_a_size_is_spelled_as_in_an_agents_file(spelled: str, meant: int | None) -> None:
    """A kilobyte has 1,024 bytes."""
    assert SIZE.convert(spelled, None, None) == meant


@pytest.mark.parametrize("kind", [LINES, SIZE])
@pytest.mark.parametrize(
    "spelled", ["-5", "1.5", "1.5KB", "1_000", "\uff15", "", "many", "50XB", "K", "9" * 5_000]
)
def test_what_is_no_size_is_refused_with_what_is(kind: Any, spelled: str) -> None:
    """The sentence shows what was given and what would do."""
    with pytest.raises(click.BadParameter, match=r"is not a whole .*, or 'all'"):
        kind.convert(spelled, None, None)
