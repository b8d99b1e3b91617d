"""Transcripts: where agents keep them, and from a file of any format to its conversations.

What each program writes, and where, is in its module of `_formats`.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import attrs

from agentic.app.replay import _archives
from agentic.app.replay._formats import (
    FORMATS,
    Format,
    Split,
    crush,
    opencode_files,
    openhands_files,
    own,
    strands,
)
from agentic.app.replay._json_values import Damage, Value, Values, note, read_values
from agentic.app.replay._reading import Reading, RecordedCompaction
from agentic.errors import AgenticError
from agentic.messages import Message, close_open_rounds, split_rounds
from agentic.providers.kit import text_at

if TYPE_CHECKING:
    import sqlite3

_UNDERSTOOD = (
    "sessions of agentic, Claude Code, Cline, Codex, Continue, Copilot CLI, Crush, Droid, "
    "Gemini CLI, Kimi, mini-swe-agent, OpenCode, OpenHands, pi, Qwen Code, Strands and SWE-agent; "
    "messages of LangChain, Pydantic AI, Bedrock and Vercel's SDK; logs of Inspect, ATIF "
    "trajectories, GenAI spans of OpenTelemetry, ShareGPT, exports of Claude.ai and ChatGPT; "
    "chat completions, Anthropic messages, items of OpenAI's Responses API; one JSON object a "
    "line, or one JSON array or object"
)
"""The formats in words, for an error message."""
_NOT_UNDERSTOOD = 0.1
"""Of a transcript of which a larger share is not understood, nothing can be said."""


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
    model: str = ""
    """The model that most replies name; empty if none does."""
    compactions: tuple[RecordedCompaction, ...] = ()
    """What the agent itself made of its history."""
    unknown_share: float = 0.0
    """The share of the text that was not understood, from 0 to 1."""

    @property
    def is_understood(self) -> bool:
        """Whether so much was understood that figures about it mean something: nine tenths."""
        return self.unknown_share <= _NOT_UNDERSTOOD

    def mended(self) -> "Transcript":
        """Return the transcript repaired as a store does when it loads: every call has a result.

        >>> from agentic.messages import ToolCall
        >>> cut_off = Message("assistant", tool_calls=[ToolCall("c1", "run")])
        >>> Transcript("a", "chat", (cut_off,)).mended().notes
        ('1 call was never answered: it has a result that says so',)
        """
        messages = list(self.messages)
        result = close_open_rounds(messages)
        if result == messages:
            return self
        # Counted before the repair, which leaves nothing to count.
        rounds = split_rounds(self.messages)
        open_calls = sum(len(each.open_calls) for each in rounds)
        orphans = sum(each.orphaned for each in rounds)
        notes = note(
            open_calls,
            "call was never answered: it has a result that says so",
            "calls were never answered: they have results that say so",
        )
        notes += note(
            orphans,
            "result answers no call: it is left out",
            "results answer no call: they are left out",
        )
        notes = notes or ["results are moved right behind their calls"]
        places = {id(message): place for place, message in enumerate(result)}
        compactions = [
            attrs.evolve(
                each,
                position=_moved(each.position, messages, places, len(result)),
                resumes=_moved(each.resumes, messages, places, len(result)),
            )
            for each in self.compactions
        ]
        return attrs.evolve(
            self,
            messages=tuple(result),
            notes=(*self.notes, *notes),
            compactions=tuple(compactions),
        )


def _moved(position: int, messages: list[Message], places: dict[int, int], end: int) -> int:
    """Return where the first message from a position on has gone."""
    later = (places[id(each)] for each in messages[position:] if id(each) in places)
    return next(later, end)


def read_transcripts(path: str | Path, *, file: BinaryIO | None = None) -> list[Transcript]:
    """Read the conversations of a file: one, or one for each that a document or database holds.

    Nothing in them is repaired; see `Transcript.mended`. If `file` is passed, it is read instead,
    and `path` is only its name.

    Raises:
        TranscriptUnreadable: says which line, what was found, and which formats are understood.
        OSError: the file cannot be opened.
    """
    name = Path(path).name
    stem = name.removesuffix(".json").removesuffix(".jsonl") or name
    try:
        if file is not None:
            return _read(_values(file), stem)
        with Path(path).open("rb") as stream:
            # By its beginning: a database may have any name.
            if stream.read(len(_SQLITE)) == _SQLITE:
                return _read_database(Path(path))
            stream.seek(0)
            for files in _FILES:
                if files.leads(Path(path)):
                    return [_conversation(Values(files.read(Path(path))), stem)]
            return _read(_values(stream), stem)
    except Damage as problem:
        raise TranscriptUnreadable(str(path), problem.line, problem.found) from problem


def _values(file: BinaryIO) -> Values:
    """Return what a file holds; an archive has to be searched, and so must be seekable."""
    if not file.seekable():
        return read_values(file)
    start = file.tell()
    magic = file.read(len(_archives.MAGIC))
    file.seek(start)
    return _archives.read_archive(file) if magic == _archives.MAGIC else read_values(file)


_FILES = (opencode_files.FILES, strands.FILES, openhands_files.FILES)


def leads_to_session(path: Path) -> bool:
    """Return whether a file may be a session: not if it is a part of one that another leads to."""
    return not any(files.belongs(path) for files in _FILES)


def _read_database(path: Path) -> list[Transcript]:
    """Read every session of a database, without writing to it."""
    import sqlite3  # noqa: PLC0415  most transcripts are no databases

    try:
        # Not `immutable`: what is not yet in the main file but in its log would be missed.
        address = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as database:
            # Read at once, since the database is closed below.
            sessions = list(_sessions_of(database))
    # What is in a row is another program's: no text, no JSON, or nested too deeply.
    except (sqlite3.Error, ValueError, TypeError, RecursionError) as problem:
        raise Damage(None, f"found a SQLite database that cannot be read ({problem})") from problem
    transcripts = []
    for name, values in sessions:
        with _naming(name):
            read = _transcript(Values(values), name)
        # A session that has begun without a message must not hide the others.
        transcripts += [read] if read.messages else []
    if not transcripts:
        raise Damage(None, "found a database with no session in it")
    return transcripts


def _sessions_of(database: "sqlite3.Connection") -> Iterator[tuple[str, list[Value]]]:
    find = "SELECT name FROM sqlite_master WHERE type = 'table'"
    tables = {name for (name,) in database.execute(find)}
    if tables >= _OWN_TABLES:
        return _own_sessions(database)
    if tables >= opencode_files.TABLES:
        return opencode_files.read_rows(database)
    if crush.is_database(database):
        return crush.read_rows(database)
    raise Damage(
        None, "found a SQLite database that is neither agentic's nor Crush's nor OpenCode's"
    )


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
        if entries := [each for each in values if own.is_store_entry(each.data)]:
            yield name, entries


def _read(contents: Values, name: str) -> list[Transcript]:
    for form in FORMATS:
        if form.split and any(form.recognizes(value.data) for value in contents.values):
            return _split(form, form.split, contents, name)
    whole = [value for value in contents.values if _messages_of(value.data) is not None]
    if not whole:
        return [_conversation(contents, name)]
    for value in contents.values:
        if _messages_of(value.data) is None:
            sentence = "found an object without `messages` among others that have them"
            contents.damages.append((Damage(value.line, sentence), value.data))
    several = len(whole) > 1
    return [
        _conversation(
            _inner(value, contents),
            f"{name} {number}" if several else name,
            document=value.data,
        )
        for number, value in enumerate(whole, 1)
    ]


def _split(form: Format, split: Split, contents: Values, name: str) -> list[Transcript]:
    """Read every conversation of a document that holds several."""
    conversations = list(split(contents.values))
    transcripts = []
    for number, (title, values) in enumerate(conversations, 1):
        title_or_number = f"{name} {title or number}" if len(conversations) > 1 else name
        read = _transcript(attrs.evolve(contents, values=list(values)), title_or_number, form=form)
        transcripts += [read] if read.messages else []
    if not transcripts:
        raise Damage(None, f"found {form.name}, and no message in it")
    return transcripts


_REQUESTS = ("messages", "contents", "input")
"""Where a request to an API has its messages, and where its system prompt."""
_PROMPTS = ("system", "systemInstruction", "system_instruction", "instructions")


def _messages_of(data: dict[str, Any]) -> list[Any] | None:
    # A `replace` of our own stores has `messages` as well, and a type.
    if "type" in data or "role" in data:
        return None
    lists = (data[key] for key in _REQUESTS if isinstance(data.get(key), list))
    return next(lists, None)


def _inner(value: Value, contents: Values) -> Values:
    """Return the messages of one conversation, beginning with its system prompt."""
    values = []
    for prompt in filter(None, (value.data.get(key) for key in _PROMPTS)):
        # Gemini's is a content with parts.
        body = prompt if isinstance(prompt, dict) else {"content": prompt}
        values.append(Value(value.line, {**body, "role": "system"}))
    damages = [*contents.damages]
    for message in _messages_of(value.data) or ():
        if isinstance(message, dict):
            values.append(Value(value.line, message))
            continue
        kind = type(message).__name__
        problem = Damage(value.line, f"found {kind} among `messages`, which is not an object")
        damages.append((problem, message))
    if damages and not values:
        raise damages[-1][0]
    return Values(values, contents.notes, damages)


def _conversation(
    contents: Values, name: str, document: Mapping[str, Any] | None = None
) -> Transcript:
    read = _transcript(contents, name, document=document)
    if not read.messages:
        raise Damage(None, f"found {read.format}, and no message in it")
    return read


def _transcript(
    contents: Values,
    name: str,
    *,
    form: Format | None = None,
    document: Mapping[str, Any] | None = None,
) -> Transcript:
    form = form or _recognize(contents.values)
    reading = Reading(notes=[*contents.notes])
    for problem, data in contents.damages:
        reading.skip_damage(problem, data)
    for model in (("model",), ("info", "config", "model", "model_name")):
        reading.use_model(text_at(document or {}, *model))
    form.read(contents.values, reading)
    if not reading.messages and reading.damages:
        raise reading.damages[0]
    return Transcript(
        name,
        form.name,
        reading.named(),
        reading.all_notes(),
        reading.model,
        tuple(reading.compactions),
        reading.unknown_share,
    )


def _recognize(values: Sequence[Value]) -> Format:
    for form in FORMATS:
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
    sessions = []
    for agent, place, pattern in _places(home or Path.home(), folder or Path.cwd(), variables):
        for path in place.glob(pattern):
            try:
                state = path.stat()
            except OSError:  # it has gone since it was listed, or must not be read
                continue
            # An empty file is no session yet: to read it would only be an error.
            if stat.S_ISREG(state.st_mode) and state.st_size:
                sessions.append(FoundSession(agent, path, state.st_mtime, state.st_size))
    # By path, too, so that files of one moment stay in their order.
    return sorted(sessions, key=lambda each: (-each.changed, str(each.path)))


_MSWEA = ("mini-swe-agent", "MSWEA_GLOBAL_CONFIG_DIR")
"""The latest run only, in the folder that platformdirs names: `global_config_dir` in
https://github.com/SWE-agent/mini-swe-agent (2026-11)."""


def _places(
    home: Path, folder: Path, environ: Mapping[str, str]
) -> Iterator[tuple[str, Path, str]]:
    """Yield each agent's name, folder, and the files in it."""
    for form in FORMATS:
        agent = form.name.removesuffix(" session").removesuffix(" store").removesuffix(" task")
        for place in form.places:
            # What a project keeps is below the folder in which the agent works.
            within = folder if place.in_project else home
            other = environ.get(place.variable) if place.variable else None
            yield agent, Path(other) if other else within.joinpath(*place.folder), place.pattern
    agent, variable = _MSWEA
    if environ.get(variable):
        yield agent, Path(environ[variable]), "*.traj.json"
        return
    config = environ.get("XDG_CONFIG_HOME") or home / ".config"
    yield agent, Path(config), f"{agent}/*.traj.json"
    yield agent, home / "Library" / "Application Support" / agent, "*.traj.json"
