"""`agentic replay`: real transcripts under policies, as a table, as JSON, as a page, or by request.

At a terminal it asks which sessions to replay, and steps through the requests of one.
"""

import errno
import itertools
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import attrs
import click

from agentic import limits, tokens
from agentic.cli._compaction import describe_message
from agentic.cli._options import TokenSize, WindowOrModel, whole_number
from agentic.cli._output import clip, count_of, embolden, json_line, local_time, printable, say
from agentic.cli._replay_files import ReplaySettings, replay_files
from agentic.cli._stdio import is_asked
from agentic.messages import Message
from agentic.replay import (
    ADAPTERS,
    POLICIES,
    FoundSession,
    Price,
    Replayed,
    Report,
    Transcript,
    find_sessions,
    price_of,
    render_page,
)

_BY_DEFAULT = ("none", "fit_window", "tiers", "digest")
_CHECKED = ("anthropic", "openai_chat")
_SUFFIXES = (".jsonl", ".json", ".db")
_LISTED = 20
"""The most sessions that are listed, the latest ones."""
_HINT = "-- space: next request, q: leave --"
_LEAVE = {"q", "Q", "\x03", "\x04", "\x1b"}
_INDENT = 10
"""The columns before a message, which hold its number."""


@click.command("replay")
@click.argument("transcripts", nargs=-1, metavar="[TRANSCRIPT]...")
@click.option("-w", "--window", type=TokenSize(), help="The model's window, such as 16k or 1m.")
@click.option(
    "-r",
    "--reserve",
    type=TokenSize(),
    help="Tokens of the window to keep free for the reply.",
)
@click.option(
    "-m",
    "--model",
    help="The model whose tokens are counted and priced, and whose window applies without "
    "--window.",
)
@click.option(
    "-p",
    "--policy",
    "specs",
    multiple=True,
    default=_BY_DEFAULT,
    help="A policy to compare, with options as name:option=value,... or an agent's YAML file. "
    f"Repeat it for several. There are: {', '.join(POLICIES)}.",
)
@click.option(
    "--provider",
    "providers",
    multiple=True,
    default=_CHECKED,
    type=click.Choice(ADAPTERS),
    metavar="NAME",
    help="A provider whose rules every request must follow; repeat it for several. There are: "
    f"{', '.join(ADAPTERS)}.",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the report to this HTML file, in which every session can be stepped through.",
)
@click.option(
    "--step",
    metavar="POLICY",
    help="Show what the model would have seen under this policy, request by request, instead of "
    "comparing policies.",
)
@click.option("--force", is_flag=True, help="Overwrite the HTML file if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def replay_command(
    *,
    transcripts: tuple[str, ...],
    window: int | None,
    reserve: int | None,
    model: str | None,
    specs: tuple[str, ...],
    providers: tuple[str, ...],
    html: Path | None,
    step: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Replay each TRANSCRIPT under several policies, and compare what is sent and lost.

    A transcript is a session of agentic, Claude Code, Codex, Gemini CLI, Kimi, mini-swe-agent,
    OpenCode or pi, or messages in the form of OpenAI or Anthropic; a folder is all of its files,
    and - is stdin. Without any, the sessions on this machine are listed. No model is asked.

    Example: agentic replay session.jsonl --window 32k -p none -p digest --html report.html
    """
    if step is not None and (html is not None or as_json):
        raise click.UsageError("--step writes no page and no JSON: leave out --html and --json")
    if not transcripts:
        transcripts = _ask_for_sessions()
        if not transcripts:
            return 0
        if window is None and model is None:
            window, model = _ask_for_window()
    settings = ReplaySettings(
        window=_window(window, model),
        reserve=reserve,
        model=model,
        # Named twice, a policy is compared once.
        specs=tuple(dict.fromkeys(specs)) if step is None else (step,),
        providers=providers,
        keeps_views=html is not None or step is not None,
    )
    # Here, too, so that a mistake in them is told before the work and not by each process.
    settings.policies()
    settings.limits()
    if html is not None:
        _refuse_unwritable(html, force=force)
    # Whatever else a folder holds is no mistake of the user: only named files make the status 1.
    replays, unread = replay_files(list(_files(transcripts)), settings)
    if not replays:
        return 1
    if step is not None:
        # Any of them may end it.
        all(_step_through(transcript, replayed) for transcript, (replayed,) in replays)
        return 1 if unread else 0
    _show(_make_report(settings, replays), html, as_json=as_json)
    return 1 if unread else 0


def _make_report(
    settings: ReplaySettings, replays: Sequence[tuple[Transcript, tuple[Replayed, ...]]]
) -> Report:
    policy, model = settings.limits().limits, settings.model
    return Report(
        replays=tuple(replays),
        descriptions=tuple(each.description for each in settings.policies()),
        window=policy.context_window,
        reserve=policy.reserve_tokens,
        counter=tokens.for_model(model or "default").description,
        providers=tuple(dict.fromkeys(settings.providers)),
        price=None if model is None else _price(model),
    )


def _show(report: Report, html: Path | None, *, as_json: bool) -> None:
    """Print the report, and write its page."""
    # The page first: whoever reads the table may leave early, as head(1) does.
    if html is not None:
        html.write_text(render_page(report), encoding="utf-8")
    _print(report, as_json=as_json)
    if html is not None:
        say(f"the page is in {html}")


def _window(window: int | None, model: str | None) -> int:
    if window is not None:
        if not window:
            raise click.UsageError("The window is 0 tokens: pass --window 32k, or --model gpt-5")
        return window
    if model is None:
        raise click.UsageError("How large is the window? Pass --window 32k, or --model gpt-5")
    model_limits = limits.lookup(model)
    if not model_limits.usable:
        raise click.UsageError(f"The window of {model!r} is not known: pass --window as well")
    if model_limits.note:
        say(f"the window of {model!r} is not known: {model_limits.note}; --window sets another")
    return model_limits.context_window


def _ask_for_window() -> tuple[int | None, str | None]:
    """Ask for the window, or for the model that has it."""
    asked = "A window in tokens, or a model"
    given = click.prompt(asked, default="200k", type=WindowOrModel(), err=True)
    return (given, None) if isinstance(given, int) else (None, given)


def _price(model: str) -> Price | None:
    """Return the price of a model, or say on stderr why costs are in tokens."""
    try:
        price = price_of(model, datetime.now(UTC))
    except ImportError:
        say("costs are in tokens; dollars need pip install 'agentic-weave[prices]'")
        return None
    if price is None:
        say(f"costs are in tokens: the price list does not have {model!r}")
    return price


def _refuse_unwritable(html: Path, *, force: bool) -> None:
    """Raise if the page could not be written, before the work and not after it."""
    if html.exists() and not force:
        raise click.UsageError(f"{html} exists: pass --force to overwrite it")
    for problem, refuses in (
        (errno.ENOENT, not html.parent.is_dir()),
        (errno.EACCES, not os.access(html if html.exists() else html.parent, os.W_OK)),
    ):
        if refuses:
            raise OSError(problem, os.strerror(problem), str(html))


def _files(paths: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield each file, and whether it was named explicitly: a folder may hold other files, too."""
    for path in paths:
        if not path:
            raise click.UsageError("the name of a transcript is empty: name a file or a folder")
        if path == "-" or not Path(path).is_dir():
            yield path, True
            continue
        found = sorted(filter(_is_readable, Path(path).iterdir()))
        if not found:
            raise click.UsageError(f"The folder {path} contains no .jsonl, .json or .db file")
        yield from ((str(each), False) for each in found)


def _is_readable(path: Path) -> bool:
    """Return whether a file of a folder may be a transcript, and report one that has no end."""
    if path.suffix not in _SUFFIXES:
        return False
    # A pipe waits for its writer, and a device may go on for ever.
    if path.exists() and not path.is_file() and not path.is_dir():
        say(f"{path} is a pipe or a device, and left out: name it if it is meant")
        return False
    return True


def _print(report: Report, *, as_json: bool) -> None:
    if as_json:
        click.echo(json_line(report.to_plain()))
        return
    # What is piped on is as wide as it is, for cut(1) and awk(1).
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    click.echo(_printable(report).to_text(embolden, width))
    click.echo(f"\nwindow {report.window:,}, reserve {report.reserve:,}; {report.counter}")
    if report.price is None:
        click.echo("cost: input in tokens at the full price; --model NAME shows dollars")
    else:
        click.echo(f"cost: {report.price.description}")
    click.echo("* the best policy that can be sent and keeps half; --json has more")


def _printable(report: Report) -> Report:
    """Remove control characters from the names and notes."""

    def transcript(found: Transcript) -> Transcript:
        notes = tuple(map(printable, found.notes))
        return attrs.evolve(found, name=printable(found.name), notes=notes)

    def replayed(found: Replayed) -> Replayed:
        problems = tuple(map(printable, found.problems))
        return attrs.evolve(found, policy=printable(found.policy), problems=problems)

    return attrs.evolve(
        report,
        replays=tuple(
            (transcript(each), tuple(map(replayed, policies))) for each, policies in report.replays
        ),
    )


def _ask_for_sessions() -> tuple[str, ...]:
    """List the sessions on this machine, and return the files that the user chooses.

    Without a terminal nobody can be asked: the list says what to pass, and nothing is returned.

    Raises:
        UsageError: there is no session.
    """
    found = find_sessions()
    if not found:
        raise click.UsageError(
            "No session of agentic, Claude Code, Codex, Gemini CLI, Kimi, mini-swe-agent, OpenCode "
            "or pi is on this machine: name a file or a folder of transcripts"
        )
    asks = is_asked() and sys.stdout.isatty()
    for number, session in enumerate(found[:_LISTED], 1):
        click.echo(_line(number, session, asks=asks))
    if (more := len(found) - _LISTED) > 0:
        click.echo(f"and {more:,} older")
    if not asks:
        path = shlex.quote(str(found[0].path))
        say(f"pass the sessions to replay, such as: agentic replay {path} --window 200k")
        return ()
    chosen = click.prompt(
        "Which? (such as 1 or 1,3-5, or all)",
        default="1",
        value_proc=lambda told: _chosen(str(told), len(found)),
    )
    return tuple(str(found[at].path) for at in chosen)


def _line(number: int, session: FoundSession, *, asks: bool) -> str:
    changed = local_time(datetime.fromtimestamp(session.changed, UTC))
    # A list that is piped on has whole paths; one that is looked at fits the screen.
    path = clip(_short(session.path), 72) if asks else printable(str(session.path))
    size = f"{session.size / 1_000:,.0f} KB"
    return f"{number:3}  {changed}  {size:>9}  {session.agent:<14}  {path}"


def _short(path: Path) -> str:
    """Return a path from the home folder on, without its middle if it is long."""
    home = str(Path.home())
    text = str(path)
    text = f"~{text[len(home) :]}" if text.startswith(home + "/") else text
    return text if len(text) <= 72 else f"{text[:20]}…{text[-51:]}"  # noqa: PLR2004  as wide as it may be


def _chosen(told: str, number: int) -> Sequence[int]:
    """Return the positions that a user chose.

    >>> _chosen("1,3-5", 9), _chosen("all", 2)
    ([0, 2, 3, 4], [0, 1])
    """
    if told.strip().lower() == "all":
        return list(range(number))
    chosen: dict[int, None] = {}
    for part in filter(None, told.replace(" ", ",").split(",")):
        begin, _, end = part.partition("-")
        first, last = whole_number(begin), whole_number(end or begin)
        if first is None or last is None:
            raise click.UsageError(f"{clip(part, 20)!r} is no number: write 1 or 1,3-5, or all")
        span = range(first, last + 1)
        if not span or span[0] < 1 or span[-1] > number:
            raise click.UsageError(f"{part} is not in the list, which has 1 to {number}")
        chosen |= dict.fromkeys(at - 1 for at in span)
    if not chosen:
        raise click.UsageError("choose one: write 1 or 1,3-5, or all")
    return list(chosen)


def _step_through(transcript: Transcript, replayed: Replayed) -> bool:
    """Show a session that was replayed with its views; return False if the user left before.

    In a terminal, a key shows the next request. Otherwise everything is printed.
    """
    asks = is_asked() and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns
    click.echo(embolden(printable(f"{transcript.name} under {replayed.policy}")))
    for number, lines in enumerate(_request_lines(transcript, replayed, width), 1):
        if asks and number > 1 and not _wants_next():
            return False
        click.echo("\n".join(["", *lines]))
    return True


def _request_lines(transcript: Transcript, replayed: Replayed, width: int) -> Iterator[list[str]]:
    """Yield the lines of each request. What a request sends as the one before did is one line."""
    for series in replayed.series:
        shown = 0
        items = _item_lines(transcript.messages, series.items, width)
        for number, length in enumerate(series.lengths, series.first):
            request = replayed.requests[number - 1]
            head = f"request {number:,} of {len(replayed.requests):,}: {request.tokens:,} tokens"
            refused = f", refused: {printable(request.refused)}" if request.refused else ""
            lines = [f"{head}{refused}"]
            if shown:
                lines.append(f"{'':{_INDENT}}{count_of(shown, 'message')} as before")
            for each in itertools.islice(items, length - shown):
                lines += each
            yield lines
            shown = length


def _item_lines(
    messages: Sequence[Message], items: Sequence[int | Message], width: int
) -> Iterator[list[str]]:
    """Yield the lines of each item, with how many messages are missing before it."""
    following = 0
    for item in items:
        if isinstance(item, Message):
            # A summary stands for what is missing behind it; another one for itself.
            following += item.role in {"assistant", "tool"}
            yield list(_made_lines(item, width))
            continue
        missing = item - following
        gap = [f"{'':{_INDENT}}[{count_of(missing, 'message')} not sent]"] if missing > 0 else []
        label = f"m{item + 1}"
        line = f"{label:>{_INDENT - 1}} {describe_message(messages[item], width - _INDENT)}"
        yield [*gap, line]
        following = item + 1


def _made_lines(message: Message, width: int) -> Iterator[str]:
    """Yield the lines of a message that is not in the transcript: of a summary, all of them."""
    if message.summary is None:
        yield f"{'shortened':>{_INDENT - 1}} {describe_message(message, width - _INDENT)}"
        return
    yield f"{'summary':>{_INDENT - 1}}"
    for line in printable(message.content).split("\n"):
        yield f"{'':{_INDENT}}{line}".rstrip()


def _wants_next() -> bool:
    click.echo(_HINT, nl=False)
    try:
        key = click.getchar()
    except (KeyboardInterrupt, EOFError):
        key = "q"
    click.echo("\r" + " " * len(_HINT) + "\r", nl=False)
    return key not in _LEAVE
