import pytest

from agentic.context.compactors import ToolTable
from agentic.errors import ConfigError


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("read", "read"),
        ("Read", "read"),
        ("readFile", "read"),
        ("mcp__filesystem__read_text_file", "read"),
        ("functions.write_file", "write"),
        ("apply-patch", "edit"),
        ("multi_edit", "edit"),
        ("delete_file", "delete"),
        ("run_terminal_cmd", "run"),
        ("AskUserQuestion", "ask"),
        ("ask_followup_question", "ask"),
        ("TodoWrite", "plan"),
        ("TaskUpdate", "plan"),
        ("save_memory", "remember"),
        ("Grep", "search"),
        ("Glob", "search"),
        ("get_reservation_details", None),
        ("", None),
    ],
)
def test_names_match_in_any_spelling(tool: str, kind: str | None) -> None:
    """Every harness spells its tools in its own way."""
    assert ToolTable().kind_of(tool, {}) == kind


@pytest.mark.parametrize(
    ("operation", "kind"), [("view", "read"), ("create", "write"), ("str_replace", "edit")]
)
def test_a_bundle_has_its_operations_kind(operation: str, kind: str) -> None:
    """One editor tool views, creates and edits."""
    arguments = {"command": operation, "path": "a.py"}

    assert ToolTable().kind_of("str_replace_based_edit_tool", arguments) == kind


def test_extend_adds_and_changes_kinds() -> None:
    """A tool has one kind: the one it was given last."""
    table = ToolTable().extend(run=["open"], read=["peek"])

    assert table.kind_of("open", {}) == "run"
    assert table.kind_of("peek", {}) == "read"
    assert table.kind_of("read_file", {}) == "read"


def test_a_field_replaces_the_defaults() -> None:
    """A table can be made from nothing."""
    table = ToolTable(kinds={"Peek": "read"})

    assert table.kind_of("peek", {}) == "read"
    assert table.kind_of("read_file", {}) is None


def test_several_paths_are_all_found() -> None:
    """A tool that reads many files reads each of them."""
    assert ToolTable().paths_of({"paths": ["a.py", 3, "b.py"]}) == ("a.py", "b.py")


@pytest.mark.parametrize("names", ["peek", 3])
def test_single_name_for_several_is_refused(names: object) -> None:
    """A text would be taken for a list of letters."""
    with pytest.raises(ConfigError, match="tool names"):
        ToolTable().extend(read=names)
