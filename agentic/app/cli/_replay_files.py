"""Replays files: one in this process, many on all cores. Each process reads its own files."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import attrs
import click

from agentic import _imports, tokens
from agentic._validate import suggest
from agentic.cli._output import describe_problem, say
from agentic.cli._stdio import open_input
from agentic.context import budget, compactors
from agentic.errors import ConfigError
from agentic.replay import (
    POLICIES,
    ContextLimits,
    Replayed,
    ReplayPolicy,
    Transcript,
    TranscriptUnreadable,
    make_policy,
    read_transcripts,
    replay,
)

_AGENTS = (".yaml", ".yml")
_WORTH_A_POOL = 4_000_000
"""Bytes of transcripts that take longer to replay than further processes to start, which is about a
second. Measured with four policies on two cores."""
_STEPPED = 40
"""The most files, the largest ones, of which every request is kept: the page shows no more."""

_Replays = list[tuple[Transcript, tuple[Replayed, ...]]]


@attrs.frozen(kw_only=True)
class ReplaySettings:
    """How transcripts are replayed; it can be sent to another process. Sizes are in tokens."""

    window: int
    reserve: int | None
    model: str | None
    specs: tuple[str, ...]
    providers: tuple[str, ...]
    keeps_views: bool = False

    def limits(self) -> ContextLimits:
        """Return the window and the counter."""
        counter = tokens.for_model(self.model or "default")
        return ContextLimits(budget.Policy(self.window, reserve_tokens=self.reserve), counter)

    def policies(self) -> list[ReplayPolicy]:
        """Return the policies.

        Raises:
            ConfigError: a policy or an option is unknown, or an agent's file has mistakes.
        """
        context_limits = self.limits()
        return [_policy(spec, context_limits) for spec in self.specs]


def replay_files(
    files: Sequence[tuple[str, bool]], settings: ReplaySettings
) -> tuple[_Replays, int]:
    """Replay all readable files and report the others on stderr.

    Each file comes with whether it was named explicitly. Return the replays in the order of the
    files, and how many of the files that were named could not be read.
    """
    sizes = [_size(path) for path, _ in files]
    stepped = sorted(range(len(files)), key=lambda at: -sizes[at])[:_STEPPED]
    # Views take memory, and a page has sections for a few sessions only.
    jobs = [
        (path, attrs.evolve(settings, keeps_views=settings.keeps_views and at in stepped))
        for at, (path, _) in enumerate(files)
    ]
    several = len(jobs) > 1 and sum(sizes) > _WORTH_A_POOL and _cores() > 1
    done = _in_processes(jobs) if several else _one_by_one(jobs)
    # In the order of the files, whichever was done first: the same command prints the same table.
    replays: _Replays = []
    unread = 0
    for (_, is_named), outcome in zip(files, done, strict=True):
        if isinstance(outcome, str):
            say(outcome)
            unread += is_named
        else:
            replays += outcome
    return _named_apart(replays), unread


def _one_by_one(jobs: Sequence[tuple[str, ReplaySettings]]) -> list[_Replays | str]:
    """Replay files in this process, with progress by message."""
    read: list[tuple[list[Transcript] | str, ReplaySettings]] = [
        (_read(path), settings) for path, settings in jobs
    ]
    total = sum(
        len(each.messages) for found, _ in read if isinstance(found, list) for each in found
    )
    with _progress(total) as passed:
        return [
            found if isinstance(found, str) else _replayed(found, settings, passed)
            for found, settings in read
        ]


def _in_processes(jobs: Sequence[tuple[str, ReplaySettings]]) -> list[_Replays | str]:
    """Replay files on all cores, with progress by file; stdin is read here."""
    outcomes: dict[int, _Replays | str] = {}
    # Not a fork: the progress bar has a thread, and a fork copies whatever lock it holds.
    workers = min(_cores(), len(jobs))
    with (
        _progress(len(jobs)) as passed,
        ProcessPoolExecutor(workers, get_context("spawn"), _end_at_interrupt) as pool,
    ):
        try:
            with _interrupts_held():
                pending = {
                    pool.submit(_replay_file, path, settings): at
                    for at, (path, settings) in enumerate(jobs)
                    if path != "-"
                }
            for at, (path, settings) in enumerate(jobs):
                if path == "-":
                    outcomes[at] = _replay_file(path, settings)
            for future in as_completed(pending):
                outcomes[pending[future]] = future.result()
                if passed:
                    passed(1)
        except BrokenProcessPool as problem:
            raise click.ClickException(
                "a process that replayed a file was killed, perhaps for want of memory: replay "
                "fewer files at once"
            ) from problem
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [outcomes[at] for at in range(len(jobs))]


def _end_at_interrupt() -> None:
    # A terminal sends Ctrl-C to all processes: each of these would print a traceback, and one that
    # ignored it would hold up the end until its file is replayed.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    # Processes inherit the mask, and import modules for a second before `_end_at_interrupt` runs.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _replay_file(path: str, settings: ReplaySettings) -> _Replays | str:
    found = _read(path)
    return found if isinstance(found, str) else _replayed(found, settings, None)


def _read(path: str) -> list[Transcript] | str:
    """Return the transcripts of a file, or what is wrong with it."""
    try:
        if path == "-":
            with open_input(path) as file:
                found = read_transcripts("stdin", file=file)
        else:
            found = read_transcripts(path)
    except (TranscriptUnreadable, OSError) as problem:
        return describe_problem(problem)
    return [transcript.mended() for transcript in found]


def _replayed(
    transcripts: Sequence[Transcript],
    settings: ReplaySettings,
    progress: Callable[[int], None] | None,
) -> _Replays:
    # The only field that differs between files, and the parts do not depend on it.
    policies, context_limits = _parts(attrs.evolve(settings, keeps_views=False))
    return [
        (
            transcript,
            tuple(
                asyncio.run(
                    replay(
                        transcript,
                        policies,
                        context_limits,
                        providers=settings.providers,
                        keep_views=settings.keeps_views,
                        progress=progress,
                    )
                )
            ),
        )
        for transcript in transcripts
    ]


@cache
def _parts(settings: ReplaySettings) -> tuple[list[ReplayPolicy], ContextLimits]:
    """Return the policies and the limits, which serve every file of a process."""
    return settings.policies(), settings.limits()


def _policy(spec: str, context_limits: ContextLimits) -> ReplayPolicy:
    """Return a policy by its name and options, or that of an agent's file."""
    if spec.endswith(_AGENTS):
        return _policy_of_agent(Path(spec))
    name = spec.partition(":")[0]
    if name not in POLICIES:
        allowed = f"one of {', '.join(POLICIES)}, or an agent's YAML file"
        remedy = suggest(name, POLICIES, "options follow as :option=value")
        raise ConfigError("policy", name, allowed, remedy)
    return make_policy(spec, context_limits)


def _policy_of_agent(path: Path) -> ReplayPolicy:
    """Return an agent's strategies and budget as a policy; a digest summarizes, not a model."""
    from agentic import config  # noqa: PLC0415  requires an extra

    agent = config.load(path)
    counter = agent.counter()
    # For its strategies, with the counter and the tools' names that they need. It is never entered,
    # so nothing is stored.
    session = agent.session("replay")
    manager = budget.Manager(counter, compactors.Digest(counter=counter), agent.policy())
    return ReplayPolicy(
        path.stem,
        (session.strategies,),
        manager if agent.context.auto_summarize else None,
        f"The strategies and the budget of {path.name}; a digest summarizes.",
    )


def _named_apart(replays: _Replays) -> _Replays:
    """Number the transcripts that have the same name."""
    seen: dict[str, int] = {}
    apart = []
    for transcript, replayed in replays:
        number = seen[transcript.name] = seen.get(transcript.name, 0) + 1
        name = transcript.name if number == 1 else f"{transcript.name} ({number})"
        apart.append((attrs.evolve(transcript, name=name), replayed))
    return apart


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def _cores() -> int:
    # In a container, or under taskset(1), a process may use fewer cores than the machine has.
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None] | None]:
    """Show progress if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with _imports.quietly():
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
        yield lambda number: shown.advance(task, number)
