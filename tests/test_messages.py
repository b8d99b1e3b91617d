"""Every sentence that a user or a model can read, listed in `messages.txt` as one page of prose.

The sentences are read out of the source, so one that is hard to provoke is listed too. A value that
is filled in shows as {…}. `make messages` writes the list anew.
"""

import ast
import difflib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "agentic"
LIST = Path(__file__).with_name("messages.txt")

_WORD_TABLES = {
    "context/digest/_calls.py",
    "context/digest/_languages.py",
    "context/digest/_overturned.py",
    "context/digest/_shell.py",
    "context/digest/_statements.py",
    "context/digest/_tools.py",
    "context/digest/_turns.py",
    "providers/openai_chat/_replies.py",
    "providers/overflow/_wordings.py",
    "testing/_model_server/_anthropic.py",
    "testing/_model_server/_cache.py",
    "testing/_model_server/_chat.py",
    "testing/_model_server/_converse.py",
    "testing/_model_server/_gemini.py",
    "testing/_model_server/_responses.py",
}
"""Modules of other people's words, which the package recognizes and does not say."""
_SAMPLES = {
    "testing/_conversations.py",
    "testing/_model_server/_script.py",
    "testing/_model_server/_server.py",
}
"""Conversations that a contract suite makes up."""
_CODE = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE FROM|PRAGMA|CREATE|VACUUM|ORDER BY|NOT IN|SET|SHOW)\b [\w'({]"
    r"|^WITH \w+ AS \(|%s::"
    r"|\(\?|\\[bdsw]|\w\|\w|^\^|^\w+\[.*\]$"
)
"""SQL, a regular expression, a type: text that no user reads."""
_TOLD = {"echo", "warn", "warning", "info", "error", "secho", "confirm", "prompt"}
"""What prints or logs its arguments: any phrase is a message there."""


@pytest.mark.slow
def test_message_list_is_up_to_date() -> None:
    """A changed sentence is seen in a review, next to those it should agree with."""
    listed = LIST.read_text().rstrip("\n").split("\n")

    found = collect(PACKAGE)

    changes = "\n".join(difflib.unified_diff(listed, found, "listed", "in the source", "", "", 0))
    assert not changes, f"run `make messages` and read the difference:\n{changes}"


def test_message_is_found_wherever_said(tmp_path: Path) -> None:
    """In an error, a log, a constant and a helper; values show as {…}. Types are no messages."""
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "_module.py").write_text(
        '"""What the module knows."""\n'
        'HINT = "leave it out"\n'
        'TABLE = "SELECT name FROM rooms"\n'
        'def explain(n: "list[int | None]") -> "list[str | None]":\n'
        '    """Say how many are missing."""\n'
        '    log.warning("two words")\n'
        '    raise ConfigError("max_turns", n, "a number", f"pass {n:,} "\n        "or more")\n'
    )

    assert collect(tmp_path) == [
        "room: a number",
        "room: leave it out",
        "room: pass {…} or more",
        "room: two words",
    ]


def collect(package: Path) -> list[str]:
    """Return the messages of a package's rooms, sorted, each as `room: text` on one line."""
    lines = set()
    for path in package.rglob("*.py"):
        place = path.relative_to(package)
        if place.as_posix() in _WORD_TABLES or place.as_posix() in _SAMPLES:
            continue
        for text in _texts(ast.parse(path.read_text())):
            lines.add(f"{place.parts[0].removesuffix('.py')}: {_on_one_line(text)}")
    return sorted(lines)


def _texts(tree: ast.Module) -> Iterator[str]:
    """Give what a module can say: phrases in what is raised or printed, sentences elsewhere."""
    said, silent = set[ast.AST](), set[ast.AST]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) or _prints(node):
            said.update(ast.walk(node))
        elif _is_not_said(node):
            silent.update(ast.walk(node))
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            silent.update(ast.walk(node.annotation))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
            silent.update(ast.walk(node.returns))
        elif isinstance(node, ast.JoinedStr):
            silent.update(part for part in node.values if isinstance(part, ast.Constant))
        elif isinstance(node, ast.FormattedValue) and node.format_spec:
            silent.update(ast.walk(node.format_spec))
    for node in ast.walk(tree):
        text = "" if node in silent else _text(node)
        words = re.findall(r"[^\W\d_]{2,}", text.replace("{…}", " "))
        enough = len(words) >= (1 if node in said else 2 if "{…}" in text else 3)
        if enough and " " in text.strip() and not _CODE.search(text):
            yield text


def _is_not_said(node: ast.AST) -> bool:
    """Return whether a node is a docstring, or a table of a provider's words."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") == "StopWords"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _prints(node: ast.AST) -> bool:
    """Return whether a node is a call that prints or logs, or makes an error."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _TOLD or name.endswith(("Error", "Note", "Violation"))


def _text(node: ast.AST) -> str:
    """Return the text of a literal, with {…} for what is filled in; empty for anything else."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "{…}" for part in node.values)
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if is_text else ""


def _on_one_line(text: str) -> str:
    """Return a text with line ends, control characters and lone surrogates as escapes."""
    shown = text.strip(" ").replace("\\", "\\\\")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


if __name__ == "__main__":
    LIST.write_text("".join(f"{line}\n" for line in collect(PACKAGE)))
