"""What is answered to mistakes that newcomers make: each is one snapshot in mistakes.txt.

`python tests/test_mistakes.py` writes the answers anew: read them next to the others.
"""

import os
import re
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from agentic import history, loop, messages, providers, tools, truncate
from agentic.app import config
from agentic.app.cli import main
from agentic.bridges.dicts import Conversation
from agentic.context import budget, compactors, strategies
from agentic.errors import AgenticError
from agentic.providers import openai_chat

LIST = Path(__file__).with_name("mistakes.txt")
FILES = {
    "agent.yaml": "model: offline\nstore: {path: sessions}\n",
    "agents/helper.yaml": "model: offline\n",
    "notes.txt": "Buy milk.\n",
    "session.json": '[{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Ho."}]',
}
_NAMES: dict[str, Any] = {
    "Conversation": Conversation,
    "budget": budget,
    "compactors": compactors,
    "history": history,
    "loop": loop,
    "messages": messages,
    "openai_chat": openai_chat,
    "providers": providers,
    "strategies": strategies,
    "tools": tools,
    "truncate": truncate,
}
"""What the mistakes in Python may use."""


def _of_command(line: str) -> str:
    """Return what a command prints to stderr."""
    with redirect_stderr(StringIO()) as err, redirect_stdout(StringIO()):
        assert main(line.split()[1:]) in {1, 2}
    return err.getvalue().rstrip("\n")


def _of_yaml(text: str) -> str:
    """Return the error about an agent's file."""
    with pytest.raises(AgenticError) as caught:
        config.loads(text, name="agent.yaml")
    return str(caught.value)


def _of_python(code: str) -> str:
    """Return the error of an expression, with its class as a traceback prints it."""
    with pytest.raises(AgenticError) as caught:
        eval(code, dict(_NAMES))  # noqa: S307  the code is in this repository
    return f"{caught.type.__name__}: {caught.value}"


_KINDS: dict[str, Callable[[str], str]] = {"$ ": _of_command, "--- ": _of_yaml, ">>> ": _of_python}


def _mistakes() -> list[tuple[str, str]]:
    """Return each mistake with its mark, and the answer below it."""
    parts = re.split(
        rf"^(?={'|'.join(map(re.escape, _KINDS))})", LIST.read_text(), flags=re.MULTILINE
    )
    pairs = [part.partition("\n") for part in filter(None, parts)]
    return [(mistake, answer.rstrip("\n")) for mistake, _, answer in pairs]


def _answer(mistake: str) -> str:
    mark = next(each for each in _KINDS if mistake.startswith(each))
    return _KINDS[mark](mistake.removeprefix(mark))


@pytest.fixture
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an agent and a session, and a home without any."""
    _fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("_place")
@pytest.mark.parametrize(("mistake", "answer"), _mistakes(), ids=[m for m, _ in _mistakes()])
def test_mistake_is_answered(mistake: str, answer: str) -> None:
    """As the snapshot says, with no traceback."""
    assert _answer(mistake) == answer
    assert "Traceback" not in answer


def test_forty_mistakes_are_kept() -> None:
    """At the command line, in an agent's file, and in Python."""
    kinds = [mistake.partition(" ")[0] for mistake, _ in _mistakes()]

    assert len(kinds) >= 40
    assert min(map(kinds.count, ("$", "---", ">>>"))) >= 10


def test_advice_never_repeats_the_mistake() -> None:
    """What is suggested instead is something else than what was written."""
    advice = re.compile(r"(?:did you mean|write|pass|such as|as in) (['\"`]?)([\w.:/-]+)\1")
    repeated = [
        (mistake, match[0])
        for mistake, answer in _mistakes()
        for match in advice.finditer(answer)
        if re.search(rf"(?<![\w.:/-]){re.escape(match[2])}(?![\w.:/-])", mistake)
    ]

    assert repeated == []


def _fill(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        _fill(Path(folder))
        os.chdir(folder)
        with mock.patch.dict(os.environ, {"HOME": folder}):
            answers = [(mistake, _answer(mistake)) for mistake, _ in _mistakes()]
    LIST.write_text("\n\n".join("\n".join(each) for each in answers) + "\n")
