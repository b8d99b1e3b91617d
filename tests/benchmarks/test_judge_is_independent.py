"""The judge and what it judges share nothing."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.retention.sessions import FOLDER, read_sessions

ROOT = Path(__file__).resolve().parents[2]
READERS = [
    *ROOT.glob("benchmarks/retention/facts/*.py"),
    *ROOT.glob("benchmarks/retention/probes/*.py"),
]
JUDGE = [*READERS, ROOT / "benchmarks/retention/evidence.py"]
OF_REPLAYS = ROOT / "agentic/app/replay/_judge.py"
JUDGED = [*ROOT.glob("agentic/context/compactors/*.py"), *ROOT.glob("agentic/context/digest/*.py")]


def _patterns(paths: list[Path]) -> Iterator[str]:
    """Yield what the modules give to `re`."""
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
                yield from (ast.unparse(each) for each in node.args[:1])


def test_judge_and_digest_share_no_pattern() -> None:
    """A pattern in both would find in a digest just what the digest put there."""
    assert not set(_patterns([*JUDGE, OF_REPLAYS])) & set(_patterns(JUDGED))


def test_facts_and_probes_import_nothing_of_the_package() -> None:
    """What is true is read from the files, not from our own parsing of them."""
    for path in READERS:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom | ast.Import):
                assert "agentic" not in ast.unparse(node), path.name


@pytest.mark.corpus
def test_third_of_sessions_is_held_out() -> None:
    """The checksum of a name decides, about one in three."""
    if not FOLDER.is_dir():
        pytest.skip("the recorded sessions are absent")
    sessions = read_sessions()

    assert 0.2 < sum(each.is_held_out for each in sessions) / len(sessions) < 0.45
