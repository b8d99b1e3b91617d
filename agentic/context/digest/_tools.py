"""Which tools read, write, edit, delete and run, and which ask the user, plan, remember and search.

The table also knows which arguments hold paths and commands.

Names are compared without case and separators, those of tools also without the prefix of a server.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

import attrs

from agentic.errors import ConfigError

ToolKind: TypeAlias = Literal[
    "read", "write", "edit", "delete", "run", "ask", "plan", "remember", "search"
]
ON_FILES: frozenset[ToolKind] = frozenset(["read", "write", "edit", "delete"])

_PREFIX = re.compile(r"^.*(?:__|[./:])(?=.)", re.DOTALL)
_SEPARATORS = re.compile(r"[\W_]+")

# The names of tools in common coding agents and file servers.
_TOOLS: Mapping[ToolKind, str] = {
    "read": """read read_file read_files read_many_files read_text_file cat view view_file open
        open_file get_file get_file_contents load_file show_file fs_read notebook_read""",
    "write": """write write_file write_to_file create create_file new_file add_file save save_file
        create_or_update_file fs_write""",
    "edit": """edit edit_file edit_block multi_edit str_replace str_replace_file replace
        replace_in_file replace_lines search_replace search_and_replace find_and_replace insert
        insert_lines append append_to_file apply_patch apply_diff patch update update_file
        modify_file notebook_edit edit_notebook""",
    "delete": "delete delete_file remove remove_file rm unlink",
    "run": """bash shell sh zsh cmd powershell terminal run run_command run_terminal_cmd
        run_terminal_command run_shell_command run_in_terminal run_bash execute execute_command
        execute_bash execute_shell exec exec_command exec_bash local_shell shell_command python
        ipython run_python execute_python run_code execute_code code_execution""",
    "ask": """ask ask_user ask_human ask_question ask_questions ask_user_question
        ask_user_questions ask_followup_question ask_clarification ask_for_approval clarify elicit
        question human_input user_input get_user_input request_input request_user_input
        prompt_user confirm_with_user""",
    "plan": """todo todos todo_write todo_read todo_list write_todos update_todos update_todo_list
        manage_todo_list set_todos plan update_plan create_plan task_create task_update
        create_task update_task add_task complete_task task_list""",
    "remember": """remember memorize save_memory store_memory add_memory create_memory
        update_memory write_memory memory_save memory_create memory_add core_memory_append
        core_memory_replace archival_memory_insert save_note add_note""",
    "search": """grep grep_search rg glob glob_search search search_files search_file file_search
        search_dir search_code codebase_search semantic_search list list_dir list_directory
        list_files ls find find_file find_files tree directory_tree web_search fetch web_fetch
        fetch_url tool_search""",
}
_KINDS: Mapping[str, ToolKind] = {
    name: kind for kind, names in _TOOLS.items() for name in names.split()
}
# Tools that combine several operations, and the arguments in which they take the name of one.
_BUNDLES = ("strreplacebasededittool", "strreplaceeditor", "texteditor", "editor", "fileeditor",
            "file", "files", "memory")  # fmt: skip
_OPERATIONS = ("command", "action", "operation", "mode")
_PATHS = """path file_path filename file absolute_path relative_path target_file target_path
relative_workspace_path notebook_path uri paths file_paths files filenames"""
_COMMANDS = "command cmd command_line script code commands input"


# A conversation repeats the same few names.
@lru_cache
def _fold(name: str) -> str:
    return _SEPARATORS.sub("", name.casefold())


def _names(names: object) -> tuple[str, ...]:
    # A str is iterable, too: each of its letters would be a name.
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ConfigError("tool names", names, "several names", f"pass them as a list: [{names!r}]")
    return tuple(dict.fromkeys(_fold(str(name)) for name in names))


def _by_name(kinds: Any) -> Mapping[str, ToolKind]:
    values = kinds.values() if isinstance(kinds, Mapping) else [kinds]
    for kind in values:
        if kind not in get_args(ToolKind):
            requirement = f"one of {', '.join(get_args(ToolKind))} for each tool"
            raise ConfigError("kinds", kind, requirement, "pass a dict of tools and what they do")
    return {_fold(name): kind for name, kind in kinds.items()}


@attrs.frozen(kw_only=True)
class ToolTable:
    """What tools do, by name. Each argument replaces a default; `extend` adds to the defaults.

    Tools that are not in the table are shown in a digest by name and arguments.

    >>> table = ToolTable().extend(read=["peek"])
    >>> table.kind_of("peek", {"path": "a.py"})
    'read'
    >>> table.kind_of("mcp__disk__writeFile", {"filePath": "a.py"})
    'write'
    """

    kinds: Mapping[str, ToolKind] = attrs.field(default=_KINDS, converter=_by_name, repr=False)
    paths: tuple[str, ...] = attrs.field(default=_PATHS.split(), converter=_names, repr=False)
    """Arguments that hold a path or a list of paths; the first one that is present is used."""
    commands: tuple[str, ...] = attrs.field(default=_COMMANDS.split(), converter=_names, repr=False)
    """Arguments that hold a command or its words; the first one that is present is used."""

    def extend(
        self,
        *,
        read: Iterable[str] = (),
        write: Iterable[str] = (),
        edit: Iterable[str] = (),
        delete: Iterable[str] = (),
        run: Iterable[str] = (),
        ask: Iterable[str] = (),
        plan: Iterable[str] = (),
        remember: Iterable[str] = (),
        search: Iterable[str] = (),
        paths: Iterable[str] = (),
        commands: Iterable[str] = (),
    ) -> "ToolTable":
        """Return a table with these names added; a tool that had another kind is moved."""
        additions: Mapping[ToolKind, Iterable[str]] = {
            "read": read, "write": write, "edit": edit, "delete": delete, "run": run,
            "ask": ask, "plan": plan, "remember": remember, "search": search,
        }  # fmt: skip
        kinds = {name: kind for kind, names in additions.items() for name in _names(names)}
        return ToolTable(
            kinds={**self.kinds, **kinds},
            paths=_names(paths) + self.paths,
            commands=_names(commands) + self.commands,
        )

    def kind_of(self, tool: str, arguments: Mapping[str, Any]) -> ToolKind | None:
        """Return what a call does, or None if the table does not know the tool."""
        name = _fold(_PREFIX.sub("", tool))
        if name in _BUNDLES:
            name = _fold("".join(_texts(arguments, _OPERATIONS)[:1]))
        return self.kinds.get(name)

    def paths_of(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the paths in the arguments of a call; empty if there are none."""
        return _texts(arguments, self.paths)

    def command_of(self, arguments: Mapping[str, Any]) -> str:
        """Return the command in the arguments of a call, words joined by blanks; empty if none."""
        words = _texts(arguments, self.commands)
        # A shell whose script is a single word: ["bash", "-lc", "cd src && make"].
        if words[1:2] in {("-c",), ("-lc",)}:
            words = words[2:]
        return " ".join(words)


def _texts(arguments: Mapping[str, Any], names: Iterable[str]) -> tuple[str, ...]:
    """Return the string or list of strings in the first of these arguments that has any."""
    fields = {_fold(key): value for key, value in arguments.items()}
    for name in filter(fields.__contains__, names):
        value = fields[name]
        texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        values = tuple(text for text in texts if isinstance(text, str) and text.strip())
        if values:
            return values
    return ()
