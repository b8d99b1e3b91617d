"""`agentic replay`: real transcripts under policies, as a table, as JSON, or as a page."""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import attrs
import click

from agentic import limits, tokens
from agentic.cli._output import describe_problem, json_line, print_warnings_on_stderr, printable
from agentic.context import budget, compactors
from agentic.errors import ConfigError
from agentic.replay import (
    ADAPTERS,
    POLICIES,
    ContextLimits,
    Replayed,
    ReplayPolicy,
    Report,
    Transcript,
    TranscriptUnreadable,
    make_policy,
    read_transcripts,
    render_page,
    replay,
)

__all__ = ["replay_command"]

_BY_DEFAULT = ("none", "fit_window", "tiers", "digest")
_CHECKED = ("anthropic", "openai_chat")
_SUFFIXES = (".jsonl", ".json")
_AGENTS = (".yaml", ".yml")


@click.command("replay")
@click.argument("transcripts", nargs=-1, required=True, metavar="TRANSCRIPT...")
@click.option("-w", "--window", type=click.IntRange(1), help="The model's window, in tokens.")
@click.option(
    "-r",
    "--reserve",
    type=click.IntRange(0),
    help="Tokens of the window to keep free for the reply.",
)
@click.option(
    "-m",
    "--model",
    help="The model whose tokens are counted, and whose window applies without --window.",
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
    help="A provider whose rules every request must follow; repeat it for several.",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the report to this HTML file.",
)
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
    as_json: bool,
) -> int:
    """Send each TRANSCRIPT anew, turn by turn, under several policies, and compare them.

    A transcript is a session of agentic, of Claude Code or of pi, or messages in the form of
    OpenAI or Anthropic; a folder is all of its files, and - is stdin. No model is asked.

    Example: agentic replay session.jsonl --window 32000 -p none -p digest --html report.html
    """
    click.get_current_context().with_resource(print_warnings_on_stderr())
    counter = tokens.for_model(model or "default")
    context_limits = ContextLimits(_limits(window, reserve, model), counter)
    policies = [_policy(spec, context_limits) for spec in dict.fromkeys(specs)]
    read, unread = _read(transcripts)
    if not read:
        return 1
    if html is not None:
        html.touch()  # so that a missing folder is reported before the work, not after it
    report = Report(
        replays=tuple(_replays(read, policies, context_limits, providers)),
        descriptions=tuple(policy.description for policy in policies),
        window=context_limits.limits.context_window,
        reserve=context_limits.limits.reserve_tokens,
        counter=counter.description,
        providers=tuple(dict.fromkeys(providers)),
    )
    if html is not None:
        html.write_text(render_page(report), encoding="utf-8")
    _print(report, as_json=as_json)
    if html is not None:
        click.echo(printable(f"agentic: the page is in {html}"), err=True)
    return 1 if unread else 0


def _limits(window: int | None, reserve: int | None, model: str | None) -> budget.Policy:
    if window is None:
        if model is None:
            raise click.UsageError("How large is the window? Pass --window 32000, or --model gpt-5")
        known = limits.lookup(model)
        if not known.known:
            raise click.UsageError(f"The window of {model!r} is not known: pass --window as well")
        window = known.context_window
    return budget.Policy(window, reserve_tokens=reserve)


def _policy(spec: str, context_limits: ContextLimits) -> ReplayPolicy:
    """Return a policy by its name and options, or that of an agent's file."""
    if spec.endswith(_AGENTS):
        return _policy_of_agent(Path(spec))
    name = spec.partition(":")[0]
    if name not in POLICIES:
        allowed = f"one of {', '.join(POLICIES)}, or an agent's YAML file"
        raise ConfigError("policy", name, allowed, "options follow as :option=value")
    return make_policy(spec, context_limits)


def _policy_of_agent(path: Path) -> ReplayPolicy:
    """Return an agent's strategies and budget as a policy; a digest summarizes, not a model."""
    from agentic import config  # noqa: PLC0415  requires an extra

    agent = config.load(path)
    counter = agent.counter()
    session = agent.session("replay")
    manager = budget.Manager(counter, compactors.Digest(counter=counter), agent.policy())
    return ReplayPolicy(
        path.stem,
        (session.strategies,),
        manager if agent.context.auto_summarize else None,
        f"The strategies and the budget of {path.name}; a digest summarizes.",
    )


def _read(paths: Sequence[str]) -> tuple[list[Transcript], int]:
    """Read all readable files, report the others, and count those that were named explicitly."""
    read: list[Transcript] = []
    unread = 0
    for path, is_named in _files(paths):
        try:
            if path == "-":
                found = read_transcripts("stdin", file=sys.stdin.buffer)
            else:
                found = read_transcripts(path)
        except (TranscriptUnreadable, OSError) as problem:
            click.echo(printable(f"agentic: {describe_problem(problem)}"), err=True)
            unread += is_named
            continue
        read += [transcript.mended() for transcript in found]
    return _named_apart(read), unread


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
            raise click.UsageError(f"The folder {path} contains no .jsonl or .json file")
        yield from ((str(each), False) for each in found)


def _named_apart(transcripts: list[Transcript]) -> list[Transcript]:
    """Number the transcripts that have the same name."""
    seen: dict[str, int] = {}
    apart = []
    for transcript in transcripts:
        number = seen[transcript.name] = seen.get(transcript.name, 0) + 1
        name = transcript.name if number == 1 else f"{transcript.name} ({number})"
        apart.append(attrs.evolve(transcript, name=name))
    return apart


def _replays(
    transcripts: Sequence[Transcript],
    policies: Sequence[ReplayPolicy],
    context_limits: ContextLimits,
    providers: Sequence[str],
) -> Iterator[tuple[Transcript, tuple[Replayed, ...]]]:
    with _progress(sum(len(each.messages) for each in transcripts)) as passed:
        for transcript in transcripts:
            done = asyncio.run(
                replay(transcript, policies, context_limits, providers=providers, progress=passed)
            )
            yield transcript, tuple(done)


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None] | None]:
    """Show progress if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress  # noqa: PLC0415  only if it is shown
    from rich.console import Console  # noqa: PLC0415

    columns = (
        progress.TextColumn("replaying"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("replay", total=total)
        yield lambda messages: shown.advance(task, messages)


def _print(report: Report, *, as_json: bool) -> None:
    if as_json:
        click.echo(json_line(report.to_plain()))
        return
    click.echo(_printable(report).to_text(lambda cell: click.style(cell, bold=True)))
    click.echo(f"\nwindow {report.window:,}, reserve {report.reserve:,}; {report.counter}")
    click.echo("* the best among policies whose requests could all be sent; --json has more")


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
