"""`agentic replay`: real transcripts under policies, as a table, as JSON, as a page, or by request.

At a terminal it asks which sessions to replay, and steps through the requests of one.
"""

import errno
import itertools
import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import attrs
import click

from agentic import limits, tokens
from agentic._base import _imports
from agentic._base._validate import suggest
from agentic.app.cli._compaction import describe_message
from agentic.app.cli._options import WindowOrModel, whole_number
from agentic.app.cli._output import clip, count_of, embolden, json_line, local_time, printable, say
from agentic.app.cli._replay_files import ReplaySettings, models_in, replay_files
from agentic.app.cli._stdio import is_asked
from agentic.app.replay import Report, Transcript
from agentic.app.replay._compare import compare
from agentic.app.replay._page import render_page
from agentic.app.replay._policies import AS_RECORDED
from agentic.app.replay._records import Price, Replayed, price_of
from agentic.app.replay._report import no_verdict_on
from agentic.app.replay._transcripts import FoundSession, find_sessions, leads_to_session
from agentic.messages import Message

_BY_DEFAULT = ("none", "fit_window", "tiers", "digest")
_SUFFIXES = (".jsonl", ".json", ".db", ".traj", ".eval", ".zip")
_NOT_SEARCHED = {".git", "node_modules", ".venv", "__pycache__"}
_LISTED = 20
"""The most sessions that are listed, the latest ones."""
_HINT = "-- space: next request, q: leave --"
_LEAVE = {"q", "Q", "\x03", "\x04", "\x1b"}
_INDENT = 10
"""The columns before a message, which hold its number."""


@attrs.frozen(kw_only=True)
class ReplayOptions:
    """What a command line says, in its words: see `agentic replay --help`."""

    transcripts: tuple[str, ...]
    window: int | str | None
    reserve: int | None
    model: str | None
    specs: tuple[str, ...]
    """The policies, as they were written."""
    providers: tuple[str, ...]
    html: Path | None
    step: str | None
    other: str | None
    """The policy that is compared with the first one."""
    force: bool
    as_json: bool


def run_replay(options: ReplayOptions) -> int:
    """Do what the command line says, and return its exit status."""
    step, other, html = options.step, options.other, options.html
    if step is not None and (html is not None or options.as_json):
        raise click.UsageError("--step writes no page and no JSON: leave out --html and --json")
    specs = options.specs
    if other is not None:
        specs = _compared(specs, other, alone=step is None and html is None)
    transcripts, window, model = options.transcripts, options.window, options.model
    if not transcripts:
        transcripts = _ask_for_sessions()
        if not transcripts:
            return 0
        if window is None and model is None:
            window, model = _ask_for_window(models_in([(path, True) for path in transcripts]))
    # Whatever else a folder holds is no mistake of the user: only named files make the status 1.
    files = list(_files(transcripts))
    settings = ReplaySettings(
        window=_window(window, model, files),
        reserve=options.reserve,
        model=model or (window if isinstance(window, str) else None),
        # Named twice, a policy is compared once.
        specs=tuple(dict.fromkeys(specs or _BY_DEFAULT)) if step is None else (step,),
        adds_record=not specs and step is None,
        keeps_all_views=other is not None,
        providers=options.providers,
        keeps_views=html is not None or step is not None or other is not None,
    )
    _check_before_work(settings, html, force=options.force)
    replays, unread = replay_files(files, settings)
    if not replays:
        return 1
    if other is not None:
        _show_differences(replays, as_json=options.as_json)
    elif step is not None:
        _step_through_all(replays)
    else:
        _show(_make_report(settings, replays), html, as_json=options.as_json)
    return 1 if unread else 0


def _check_before_work(settings: ReplaySettings, html: Path | None, *, force: bool) -> None:
    """Raise for a mistake of the user's now, and not by each process that replays."""
    settings.policies()
    settings.limits()
    if html is not None:
        _refuse_unwritable(html, force=force)


def _compared(specs: tuple[str, ...], other: str, *, alone: bool) -> tuple[str, str]:
    """Return the policy to compare with, by default the record, and the policy to compare."""
    if not alone or len(specs) > 1:
        raise click.UsageError("--compare takes one --policy, and no --step and no --html")
    return specs[0] if specs else AS_RECORDED, other


def _make_report(
    settings: ReplaySettings, replays: Sequence[tuple[Transcript, tuple[Replayed, ...]]]
) -> Report:
    policy = settings.limits().limits
    policies = {each.name: each.description for each in settings.policies()}
    models = {settings.for_transcript(transcript).model for transcript, _ in replays}
    model = next(iter(models)) if len(models) == 1 else None
    counter = tokens.for_model(model or "default").description
    return Report(
        replays=tuple(replays),
        descriptions=tuple(policies[each.policy] for each in replays[0][1]),
        window=policy.context_window,
        reserve=policy.reserve_tokens,
        counter=counter if len(models) == 1 else "counted for the model that each session names",
        providers=tuple(dict.fromkeys(settings.providers)),
        price=None if model is None else _price(model),
    )


def _show_differences(
    replays: Sequence[tuple[Transcript, tuple[Replayed, ...]]], *, as_json: bool
) -> None:
    """Print what the second policy sends differently from the first, session by session."""
    if len(replays[0][1]) == 1:
        raise click.UsageError("--compare names the first policy again: name another one")
    differences = [compare(transcript, *runs) for transcript, runs in replays]
    count = sum(each.first is not None for each in differences)
    before, after = replays[0][1]
    if as_json:
        plain = [each.to_plain() for each in differences]
        names = {"before": before.policy, "after": after.policy}
        click.echo(json_line({**names, "changed": count, "sessions": plain}))
        return
    sessions = count_of(len(differences), "session")
    head = f"{count:,} of {sessions} would be sent differently by {after.policy}"
    click.echo(embolden(printable(f"{head} than by {before.policy}")))
    for each in differences:
        messages = count_of(len(each.transcript.messages), "message")
        name = f"{each.transcript.name} ({messages}, {each.transcript.format})"
        click.echo(f"\n{printable(name)}")
        lines = each.sentences
        if not each.transcript.is_understood:
            lines = iter([no_verdict_on([each.transcript])])
        for line in lines:
            click.echo(f"  {printable(line)}")


def _show(report: Report, html: Path | None, *, as_json: bool) -> None:
    """Print the report, and write its page."""
    # The page first: whoever reads the table may leave early, as head(1) does.
    if html is not None:
        html.write_text(render_page(report), encoding="utf-8")
    _print(report, as_json=as_json)
    if html is not None:
        say(f"the page is in {html}")


def _window(window: int | str | None, model: str | None, files: Sequence[tuple[str, bool]]) -> int:
    if isinstance(window, int):
        return window
    model = window or model
    if model is None:
        models = models_in(files)
        if not models:
            _refuse_missing(path for path, is_named in files if is_named and path != "-")
        return _window_of_sessions(models)
    model_limits = limits.lookup(model)
    if not model_limits.usable:
        remedy = suggest(model, limits.CONTEXT_LIMITS, "pass it in tokens, such as --window 32k")
        raise click.UsageError(f"The window of {model!r} is not known: {remedy}")
    if model_limits.note:
        say(f"the window of {model!r} is not known: {model_limits.note}; --window sets another")
    return model_limits.context_window


def _refuse_missing(paths: Iterable[str]) -> None:
    """Raise if there is no such file: then the window is not what is missing."""
    for path in paths:
        if not Path(path).exists():
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _window_of_sessions(models: Counter[str]) -> int:
    """Return the window of the model that most sessions name."""
    windows: Counter[int] = Counter()
    for name, number in models.items():
        model_limits = limits.lookup(name)
        if model_limits.usable:
            windows[model_limits.context_window] += number
    if not windows:
        raise click.UsageError("How large is the window? Pass --window 32k, or --model gpt-5")
    [(window, _)] = windows.most_common(1)
    several = f": the sessions name {len(models)} models" if len(windows) > 1 else ""
    say(f"a window of {window:,} tokens, as in most sessions{several}; --window sets another")
    return window


def _ask_for_window(models: Counter[str]) -> tuple[int | None, str | None]:
    """Ask for the window, or for the model that has it; by default, the sessions' own."""
    question = "A window in tokens, or a model"
    own = next((name for name, _ in models.most_common() if limits.lookup(name).usable), "200k")
    value = click.prompt(question, default=own, type=WindowOrModel(), err=True)
    return (value, None) if isinstance(value, int) else (None, value)


def _price(model: str) -> Price | None:
    """Return the price of a model, or say on stderr why costs are in tokens."""
    try:
        price = price_of(model, datetime.now(UTC))
    except ImportError:
        say(f"costs are in tokens; dollars need {_imports.pip_install('agentic-weave[prices]')}")
        return None
    if price is None:
        hint = suggest(model.lower(), limits.CONTEXT_LIMITS)
        near = f"; {hint}" if hint and not limits.lookup(model).usable else ""
        say(f"costs are in tokens: the price list does not have {model!r}{near}")
    return price


def _refuse_unwritable(html: Path, *, force: bool) -> None:
    """Raise if the page could not be written, before the work and not after it."""
    if html.exists() and not force:
        raise click.UsageError(f"{html} exists: pass --force to overwrite it")
    if not html.parent.is_dir():
        raise click.UsageError(f"{html}: there is no folder {html.parent}; create it first")
    if not os.access(html if html.exists() else html.parent, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(html))


def _files(paths: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield each file, and whether it was named explicitly: a folder may hold other files, too."""
    for path in paths:
        if not path:
            raise click.UsageError("the name of a transcript is empty: name a file or a folder")
        if path == "-" or not Path(path).is_dir():
            yield path, True
            continue
        below = filter(leads_to_session, _files_below(path))
        files = [each for each in below if _is_readable(each)]
        if not files:
            raise click.UsageError(f"The folder {path} contains no .jsonl, .json or .db file")
        yield from ((str(each), False) for each in files)


def _files_below(folder: str) -> Iterator[Path]:
    """Yield the files of a folder and of those in it, in order."""
    # It follows no link to a folder, which may lead back up.
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _NOT_SEARCHED)
        yield from (Path(place, name) for name in sorted(names))


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

    def transcript(source: Transcript) -> Transcript:
        notes = tuple(map(printable, source.notes))
        return attrs.evolve(source, name=printable(source.name), notes=notes)

    def replayed(run: Replayed) -> Replayed:
        problems = tuple(map(printable, run.problems))
        return attrs.evolve(run, policy=printable(run.policy), problems=problems)

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
    sessions = find_sessions()
    if not sessions:
        raise click.UsageError(
            "There is no session of a known agent on this machine: name a file or a folder of "
            "transcripts"
        )
    asks = is_asked() and sys.stdout.isatty()
    for number, session in enumerate(sessions[:_LISTED], 1):
        click.echo(_line(number, session, asks=asks))
    if (more := len(sessions) - _LISTED) > 0:
        click.echo(f"and {more:,} older")
    if not asks:
        path = shlex.quote(str(sessions[0].path))
        say(f"pass the sessions to replay, such as: agentic replay {path} --window 200k")
        return ()
    choice = click.prompt(
        "Which? (such as 1 or 1,3-5, or all)",
        default="1",
        value_proc=lambda answer: _chosen(str(answer), len(sessions)),
    )
    return tuple(str(sessions[at].path) for at in choice)


def _line(number: int, session: FoundSession, *, asks: bool) -> str:
    time = local_time(datetime.fromtimestamp(session.changed, UTC))
    # A list that is piped on has whole paths; one that is looked at fits the screen.
    path = clip(_short(session.path), 72) if asks else printable(str(session.path))
    size = f"{session.size / 1_000:,.0f} KB"
    return f"{number:3}  {time}  {size:>9}  {session.agent:<14}  {path}"


def _short(path: Path) -> str:
    """Return a path from the home folder on, without its middle if it is long."""
    home = str(Path.home())
    text = str(path)
    text = f"~{text[len(home) :]}" if text.startswith(home + "/") else text
    return text if len(text) <= 72 else f"{text[:20]}…{text[-51:]}"  # noqa: PLR2004  as wide as it may be


def _chosen(answer: str, number: int) -> Sequence[int]:
    """Return the positions that a user chose.

    >>> _chosen("1,3-5", 9), _chosen("all", 2)
    ([0, 2, 3, 4], [0, 1])
    """
    if answer.strip().lower() == "all":
        return list(range(number))
    choice: dict[int, None] = {}
    for part in filter(None, answer.replace(" ", ",").split(",")):
        begin, _, end = part.partition("-")
        first, last = whole_number(begin), whole_number(end or begin)
        if first is None or last is None:
            raise click.UsageError(f"{clip(part, 20)!r} is not a number: write 1 or 1,3-5, or all")
        span = range(first, last + 1)
        if not span or span[0] < 1 or span[-1] > number:
            raise click.UsageError(f"{part} is not in the list, which has 1 to {number}")
        choice |= dict.fromkeys(at - 1 for at in span)
    if not choice:
        raise click.UsageError("choose one: write 1 or 1,3-5, or all")
    return list(choice)


def _step_through_all(replays: Sequence[tuple[Transcript, tuple[Replayed, ...]]]) -> None:
    """Show the requests of one session after another, until the user leaves."""
    all(_step_through(transcript, run) for transcript, (run,) in replays)


def _step_through(transcript: Transcript, run: Replayed) -> bool:
    """Show a session that was replayed with its views; return False if the user left before.

    In a terminal, a key shows the next request. Otherwise everything is printed.
    """
    asks = is_asked() and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns
    click.echo(embolden(printable(f"{transcript.name} under {run.policy}")))
    for number, lines in enumerate(_request_lines(transcript, run, width), 1):
        if asks and number > 1 and not _wants_next():
            return False
        click.echo("\n".join(["", *lines]))
    return True


def _request_lines(transcript: Transcript, run: Replayed, width: int) -> Iterator[list[str]]:
    """Yield the lines of each request. What a request sends as the one before did is one line."""
    for series in run.series:
        count = 0
        items = _item_lines(transcript.messages, series.items, width)
        for number, length in enumerate(series.lengths, series.first):
            request = run.requests[number - 1]
            head = f"request {number:,} of {len(run.requests):,}: {request.tokens:,} tokens"
            refusal = f", refused: {printable(request.refused)}" if request.refused else ""
            lines = [f"{head}{refusal}"]
            if count:
                lines.append(f"{'':{_INDENT}}{count_of(count, 'message')} as before")
            for each in itertools.islice(items, length - count):
                lines += each
            yield lines
            count = length


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
