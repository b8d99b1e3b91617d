"""Sizes and numbers of lines, as a command line spells them."""

import json
from typing import Any

import pytest


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
        ("1GiB", 3_000_000),
        ("7B", 7),
        ("0", 0),
        ("all", 3_000_000),
        ("ALL", 3_000_000),
    ],
)
def test_sizes_are_spelled_as_in_yaml(agentic: Any, spelled: str, meant: int) -> None:
    """A kilobyte has 1,024 bytes; of three million, as many are kept."""
    done = agentic("truncate", "--json", "--head", "-c", spelled, stdin=b"x" * 3_000_000)

    assert json.loads(done.out)["output_bytes"] == meant


@pytest.mark.parametrize("option", ["--lines", "--bytes"])
@pytest.mark.parametrize(
    "spelled", ["-5", "1.5", "1.5KB", "1_000", "\uff15", "", "many", "50XB", "K", "9" * 5_000]
)
def test_what_is_no_size_is_refused(agentic: Any, option: str, spelled: str) -> None:
    """The sentence shows what was given and what would do."""
    done = agentic("truncate", option, spelled)

    assert done.status == 2
    assert f"{spelled[:18]!r} is not a whole " in done.err
    assert ", or 'all'" in done.err
