"""`agentic replay`: real transcripts under policies, as a table, as JSON, or as a page."""

import errno
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import attrs
import click

from agentic import limits, tokens
from agentic.cli._options import TokenSize, WindowOrModel
from agentic.cli._output import embolden, json_line, printable, say
from agentic.cli._replay_files import ReplaySettings, replay_files
from agentic.cli._replay_terminal import ask_for_sessions, step_through
from agentic.replay import (
    ADAPTERS,
    POLICIES,
    Price,
    Replayed,
    Report,
    Transcript,
    price_of,
    render_page,
)

__all__ = ["replay_command"]

_BY_DEFAULT = ("none", "fit_window", "tiers", "digest")
_CHECKED = ("anthropic", "openai_chat")
_SUFFIXES = (".jsonl", ".json", ".db")


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
        transcripts = ask_for_sessions()
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
    policies, context_limits = settings.policies(), settings.limits()
    if html is not None:
        _refuse_unwritable(html, force=force)
    replays, unread = replay_files(list(_files(transcripts)), settings)
    if not replays:
        return 1
    if step is not None:
        # Any of them may end it.
        all(step_through(transcript, replayed) for transcript, (replayed,) in replays)
        return 1 if unread else 0
    report = Report(
        replays=tuple(replays),
        descriptions=tuple(policy.description for policy in policies),
        window=context_limits.limits.context_window,
        reserve=context_limits.limits.reserve_tokens,
        counter=tokens.for_model(model or "default").description,
        providers=tuple(dict.fromkeys(providers)),
        price=None if model is None else _price(model),
    )
    _show(report, html, as_json=as_json)
    return 1 if unread else 0


def _show(report: Report, html: Path | None, *, as_json: bool) -> None:
    """Print the report, and write its page."""
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
    known = limits.lookup(model)
    if not known.known:
        raise click.UsageError(f"The window of {model!r} is not known: pass --window as well")
    return known.context_window


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
        found = sorted(each for each in Path(path).iterdir() if each.suffix in _SUFFIXES)
        if not found:
            raise click.UsageError(f"The folder {path} contains no .jsonl, .json or .db file")
        yield from ((str(each), False) for each in found)


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
