"""Transcripts: where agents keep them, and from a file of any format to its conversations.

Every place is the one that its maker documents or writes to (2026-11):

- Claude Code: https://code.claude.com/docs/en/settings, `CLAUDE_CONFIG_DIR`.
- Codex: codex-rs/rollout of https://github.com/openai/codex, `CODEX_HOME`.
- Gemini CLI: packages/core/src/config/storage.ts of https://github.com/google-gemini/gemini-cli.
- Kimi: https://moonshotai.github.io/kimi-cli/en/configuration/data-locations.html and
  https://moonshotai.github.io/kimi-code/en/guides/sessions.html.
- mini-swe-agent: `global_config_dir` in https://github.com/SWE-agent/mini-swe-agent, the folder
  that platformdirs names, `MSWEA_GLOBAL_CONFIG_DIR`; it keeps the latest run only.
- OpenCode: packages/opencode/src/global of https://github.com/sst/opencode, `XDG_DATA_HOME`.
- pi: packages/coding-agent/docs of https://github.com/badlogic/pi-mono, `PI_CODING_AGENT_DIR`.
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import attrs

from agentic.errors import AgenticError, ConfigError
from agentic.messages import Message, close_open_rounds, split_rounds
from agentic.providers.kit import text_at
from agentic.replay import _message_formats, _opencode, _session_logs, _session_trees
from agentic.replay._json_values import Damage, Value, Values, note, read_values

if TYPE_CHECKING:
    import sqlite3

_UNDERSTOOD = (
    "sessions of agentic, Claude Code, Codex, Gemini CLI, Kimi, mini-swe-agent, OpenCode and pi; "
    "chat completions, Anthropic messages, items of OpenAI's Responses API; one JSON object a "
    "line, or one JSON array or object"
)
"""The formats in words, for an error message."""


@attrs.define
class TranscriptUnreadable(AgenticError):
    """A file that contains no readable conversation."""

    name: str
    """The file, as it was passed."""
    line: int | None
    """Counted from 1; None if the error concerns the whole file."""
    found: str
    """What was found there."""

    def __str__(self) -> str:
        where = self.name if self.line is None else f"{self.name}, line {self.line}"
        return f"{where}: {self.found}. What is understood: {_UNDERSTOOD}"


_SQLITE = b"SQLite format 3\x00"
"""How every SQLite database begins."""
_OWN_TABLES = {"sessions", "entries"}


@attrs.frozen
class Transcript:
    """One recorded conversation."""

    name: str
    """The name in a report."""
    format: str
    """The format that it was read from."""
    messages: tuple[Message, ...]
    notes: tuple[str, ...] = ()
    """What was left out or repaired, one sentence each."""

    def mended(self) -> "Transcript":
        """Return the transcript repaired as a store does when it loads: every call has a result.

        >>> from agentic.messages import ToolCall
        >>> cut_off = Message("assistant", tool_calls=[ToolCall("c1", "run")])
        >>> Transcript("a", "chat", (cut_off,)).mended().notes
        ('1 call was never answered: it has a result that says so',)
        """
        messages = list(self.messages)
        closed = close_open_rounds(messages)
        if closed == messages:
            return self
        # Counted before the repair, which leaves nothing to count.
        rounds = split_rounds(self.messages)
        unanswered = sum(len(found.open_calls) for found in rounds)
        orphans = sum(found.orphaned for found in rounds)
        told = note(
            unanswered,
            "call was never answered: it has a result that says so",
            "calls were never answered: they have results that say so",
        )
        told += note(
            orphans,
            "result answers no call: it is left out",
            "results answer no call: they are left out",
        )
        told = told or ["results are moved right behind their calls"]
        return attrs.evolve(self, messages=tuple(closed), notes=(*self.notes, *told))


def read_transcripts(path: str | Path, *, file: BinaryIO | None = None) -> list[Transcript]:
    """Read the conversations of a file: one, or one for each `{"messages": [...]}` in it.

    A database of agentic or of OpenCode has one for each of its sessions. Nothing in them is
    repaired; see `Transcript.mended`. If `file` is passed, it is read instead, and `path` is only
    its name.

    Raises:
        TranscriptUnreadable: says which line, what was found, and which formats are understood.
        OSError: the file cannot be opened.
    """
    name = Path(path).name
    stem = name.removesuffix(".json").removesuffix(".jsonl") or name
    try:
        if file is not None:
            return _read(read_values(file), stem)
        with Path(path).open("rb") as opened:
            # By its beginning: a database may have any name.
            if opened.read(len(_SQLITE)) == _SQLITE:
                return _read_database(Path(path))
            opened.seek(0)
            if _opencode.is_session_file(Path(path)):
                return [_conversation(_opencode.read_files(Path(path)), stem, [])]
            return _read(read_values(opened), stem)
    except Damage as problem:
        raise TranscriptUnreadable(str(path), problem.line, problem.found) from problem


_Reader = Callable[[Sequence[Value]], tuple[list[Message], list[str]]]


@attrs.frozen
class _Format:
    """How one format is recognized and read."""

    format: str
    recognizes: Callable[[dict[str, Any]], bool]
    """Examines one object of the file."""
    read: _Reader
    """Returns the messages and notes; raises Damage."""


# Those of agents come first: some of them hold messages in the form of a provider.
_FORMATS = [
    _Format("agentic store", _message_formats.is_store_entry, _message_formats.read_store_entries),
    _Format("agentic messages", _message_formats.is_plain, _message_formats.read_plain),
    _Format("Codex session", _session_logs.is_codex_line, _session_logs.read_codex),
    _Format("Kimi CLI session", _session_logs.is_kimi_line, _session_logs.read_kimi_context),
    _Format("Kimi Code session", _session_logs.is_kimi_event, _session_logs.read_kimi_events),
    _Format("OpenCode session", _opencode.is_message, _opencode.read),
    _Format("pi session", _session_trees.is_pi_entry, _session_trees.read_pi),
    _Format("Claude Code session", _session_trees.is_claude_entry, _session_trees.read_claude),
    _Format("Gemini CLI session", _session_logs.is_gemini_line, _session_logs.read_gemini),
    _Format("Responses API items", _message_formats.is_item, _message_formats.read_items),
    _Format("Anthropic messages", _message_formats.is_anthropic, _message_formats.read_anthropic),
    _Format("chat completions", _message_formats.is_chat, _message_formats.read_chat),
]
"""The first format that recognizes any object of a file reads all of them."""


def _read_database(path: Path) -> list[Transcript]:
    """Read every session of a database, without writing to it."""
    import sqlite3  # noqa: PLC0415  most transcripts are no databases

    try:
        # Not `immutable`: what is not yet in the main file but in its log would be missed.
        address = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as database:
            find = "SELECT name FROM sqlite_master WHERE type = 'table'"
            tables = {name for (name,) in database.execute(find)}
            if tables >= _OWN_TABLES:
                # Read at once, since the database is closed below.
                sessions = list(_own_sessions(database))
            elif tables >= _opencode.TABLES:
                sessions = list(_opencode.read_rows(database))
            else:
                told = "found a SQLite database that is neither agentic's nor OpenCode's"
                raise Damage(None, told)
    # What is in a row is another program's: no text, no JSON, or nested too deeply.
    except (sqlite3.Error, ValueError, TypeError, RecursionError) as problem:
        raise Damage(None, f"found a SQLite database that cannot be read ({problem})") from problem
    found = []
    for name, values in sessions:
        with _naming(name):
            read = _transcript(values, name, [])
        # A session that has begun without a message must not hide the others.
        found += [read] if read.messages else []
    if not found:
        raise Damage(None, "found a database with no session in it")
    return found


@contextmanager
def _naming(session: str) -> Iterator[None]:
    try:
        yield
    except Damage as problem:
        # Without the line: it is counted in the rows of this session.
        raise Damage(None, f"the session {session!r}: {problem.found}") from problem


def _own_sessions(database: "sqlite3.Connection") -> Iterator[tuple[str, list[Value]]]:
    for number, name in database.execute("SELECT number, id FROM sessions ORDER BY id").fetchall():
        find = "SELECT text FROM entries WHERE session = ? ORDER BY seq"
        lines = [text for (text,) in database.execute(find, (number,))]
        with _naming(name):
            values = read_values(BytesIO(b"\n".join([*lines, b""]))).values if lines else []
        # Of a session without any, the other entries would not be recognized.
        if entries := [each for each in values if _message_formats.is_store_entry(each.data)]:
            yield name, entries


def _read(found: Values, name: str) -> list[Transcript]:
    whole = [value for value in found.values if _messages_of(value.data) is not None]
    if not whole:
        return [_conversation(found.values, name, found.notes)]
    if len(whole) < len(found.values):
        other = next(value for value in found.values if _messages_of(value.data) is None)
        told = "an object without `messages` among others that have them"
        raise Damage(other.line, f"found {told}")
    return [
        _conversation(
            list(_inner(value)), name if len(whole) == 1 else f"{name} {number}", found.notes
        )
        for number, value in enumerate(whole, 1)
    ]


def _messages_of(data: dict[str, Any]) -> list[Any] | None:
    messages = data.get("messages")
    # A `replace` of our own stores has `messages` as well, and a type.
    return messages if isinstance(messages, list) and "type" not in data else None


def _inner(value: Value) -> Iterator[Value]:
    """Yield the messages of one conversation, beginning with its system prompt."""
    system = value.data.get("system")
    ending = {"exit"} if "trajectory_format" in value.data else set()
    # A request to Anthropic's API has it beside the messages.
    if system:
        yield Value(value.line, {"role": "system", "content": system})
    for message in value.data["messages"]:
        if not isinstance(message, dict):
            raise Damage(
                value.line,
                f"found {type(message).__name__} among `messages`, which is not an object",
            )
        # mini-swe-agent ends a run with a message of its own, which is never sent.
        if text_at(message, "role") not in ending:
            yield Value(value.line, message)


def _conversation(values: Sequence[Value], name: str, notes: list[str]) -> Transcript:
    found = _transcript(values, name, notes)
    if not found.messages:
        raise Damage(None, f"found {found.format}, and no message in it")
    return found


def _transcript(values: Sequence[Value], name: str, notes: list[str]) -> Transcript:
    form = _recognize(values)
    try:
        messages, told = form.read(values)
    except ConfigError as problem:
        raise Damage(None, f"{form.format}: {problem}") from problem
    return Transcript(name, form.format, tuple(messages), (*notes, *told))


def _recognize(values: Sequence[Value]) -> _Format:
    for form in _FORMATS:
        # Any, not the first: files of agents begin with entries that hold no message.
        if any(form.recognizes(value.data) for value in values):
            return form
    if not values:
        raise Damage(None, "found a conversation with no message in it")
    first = values[0]
    keys = ", ".join(repr(key) for key in list(first.data)[:8]) or "no keys"
    raise Damage(first.line, f"found an object with {keys}, which is not a message")


@attrs.frozen
class FoundSession:
    """A file of sessions; a database holds several."""

    agent: str
    """The name of the agent that wrote it."""
    path: Path
    changed: float
    """When it changed last, in seconds since 1970."""
    size: int
    """In bytes."""


def find_sessions(
    home: Path | None = None, folder: Path | None = None, environ: Mapping[str, str] | None = None
) -> list[FoundSession]:
    """Return the session files of all known agents, the latest first.

    Args:
        home: the home folder, by default the user's.
        folder: where agentic's own sessions are, in `.agentic/sessions`; by default here.
        environ: the variables that move an agent's folder, by default the process's.
    """
    variables = os.environ if environ is None else environ
    found = []
    for agent, place, pattern in _places(home or Path.home(), folder or Path.cwd(), variables):
        for path in place.glob(pattern):
            try:
                state = path.stat()
            except OSError:  # it has gone since it was listed, or must not be read
                continue
            # An empty file is no session yet: to read it would only be an error.
            if stat.S_ISREG(state.st_mode) and state.st_size:
                found.append(FoundSession(agent, path, state.st_mtime, state.st_size))
    # By path, too, so that files of one moment stay in their order.
    return sorted(found, key=lambda each: (-each.changed, str(each.path)))


def _places(
    home: Path, folder: Path, environ: Mapping[str, str]
) -> Iterator[tuple[str, Path, str]]:
    """Yield each agent's name, folder, and the files in it."""

    def place(variable: str, *default: str) -> Path:
        return Path(environ[variable]) if environ.get(variable) else home.joinpath(*default)

    own = folder / ".agentic" / "sessions"
    yield "agentic", own, "**/*.jsonl"
    yield "agentic", own, "**/*.db"
    yield "Claude Code", place("CLAUDE_CONFIG_DIR", ".claude"), "projects/*/*.jsonl"
    yield "Codex", place("CODEX_HOME", ".codex"), "sessions/**/rollout-*.jsonl"
    yield "Codex", place("CODEX_HOME", ".codex"), "archived_sessions/rollout-*.jsonl"
    yield "Gemini CLI", home / ".gemini" / "tmp", "*/chats/session-*.json*"
    yield "Kimi CLI", place("KIMI_SHARE_DIR", ".kimi"), "sessions/*/*/context.jsonl"
    kimi_code = "sessions/*/*/agents/main/wire.jsonl"
    yield "Kimi Code", place("KIMI_CODE_HOME", ".kimi-code"), kimi_code
    if environ.get("MSWEA_GLOBAL_CONFIG_DIR"):
        yield "mini-swe-agent", Path(environ["MSWEA_GLOBAL_CONFIG_DIR"]), "*.traj.json"
    else:
        # What platformdirs names on Linux and on macOS.
        yield "mini-swe-agent", place("XDG_CONFIG_HOME", ".config"), "mini-swe-agent/*.traj.json"
        support = home / "Library" / "Application Support" / "mini-swe-agent"
        yield "mini-swe-agent", support, "*.traj.json"
    opencode = place("XDG_DATA_HOME", ".local", "share") / "opencode"
    yield "OpenCode", opencode, "opencode.db"
    yield "OpenCode", opencode, "storage/session/*/*.json"
    yield "pi", place("PI_CODING_AGENT_DIR", ".pi", "agent"), "sessions/*/*.jsonl"
