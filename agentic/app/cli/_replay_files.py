"""Replays files: one in this process, many on all cores. Each process reads its own files."""

import asyncio
import contextlib
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from weakref import WeakKeyDictionary

import attrs
import click

from agentic import tokens
from agentic._base import _imports
from agentic._base._validate import suggest
from agentic.app.cli._output import describe_problem, say
from agentic.app.cli._stdio import open_input
from agentic.app.replay import (
    ContextLimits,
    Transcript,
    TranscriptUnreadable,
    make_policy,
    read_transcripts,
    replay,
)
from agentic.app.replay._policies import AS_RECORDED, POLICIES, ReplayPolicy
from agentic.app.replay._records import Replayed
from agentic.app.replay._replay import CountedTranscript
from agentic.context import budget, compactors
from agentic.errors import ConfigError

_AGENTS = (".yaml", ".yml")
_WORTH_A_POOL = 4_000_000
"""Bytes of transcripts that take longer to replay than further processes to start, which is about a
second. Measured with four policies on two cores."""
_REFUSED = 5
"""The most files of a folder about which it is said why they are no transcripts."""
_STEPPED = 40
"""The most files, the largest ones, of which every request is kept: the page shows no more."""

_Replays = list[tuple[Transcript, tuple[Replayed, ...]]]


@attrs.frozen(kw_only=True)
class ReplaySettings:
    """How transcripts are replayed; it can be sent to another process. Sizes are in tokens."""

    window: int
    reserve: int | None
    model: str | None
    """None: of each file the model that its replies name."""
    specs: tuple[str, ...]
    providers: tuple[str, ...]
    keeps_views: bool = False
    keeps_all_views: bool = False
    """Whether views are kept of every file, and not only of those that a page shows."""
    adds_record: bool = False
    """Whether what the agents themselves sent is compared as well, next to `none`."""

    @property
    def all_specs(self) -> tuple[str, ...]:
        """The policies, with what the agents themselves sent if that is asked for."""
        if not self.adds_record:
            return self.specs
        first, *others = self.specs
        return (first, AS_RECORDED, *others)

    def for_transcript(self, transcript: Transcript) -> "ReplaySettings":
        """Return the settings for one transcript, whose own model counts unless one is set."""
        # Where views are kept differs between files, and the parts do not depend on it.
        model = self.model or transcript.model or None
        return attrs.evolve(self, model=model, keeps_views=False)

    def limits(self) -> ContextLimits:
        """Return the window and the counter."""
        counter = tokens.for_model(self.model or "default")
        return ContextLimits(budget.Policy(self.window, reserve_tokens=self.reserve), counter)

    def policies(self, context_limits: ContextLimits | None = None) -> list[ReplayPolicy]:
        """Return the policies, made for the window or for other limits.

        Raises:
            ConfigError: a policy or an option is unknown, or an agent's file has mistakes.
        """
        context_limits = context_limits or self.limits()
        return [_policy(spec, context_limits) for spec in self.all_specs]


def replay_files(
    files: Sequence[tuple[str, bool]], settings: ReplaySettings
) -> tuple[_Replays, int]:
    """Replay all readable files and report the others on stderr.

    Each file comes with whether it was named explicitly. Return the replays in the order of the
    files, and how many of the files that were named could not be read.
    """
    sizes = [_size(path) for path, _ in files]
    largest = sorted(range(len(files)), key=lambda at: -sizes[at])[:_STEPPED]
    # Views take memory, and a page has sections for a few sessions only.
    with_views = range(len(files)) if settings.keeps_all_views else largest
    jobs = [
        (path, attrs.evolve(settings, keeps_views=settings.keeps_views and at in with_views))
        for at, (path, _) in enumerate(files)
    ]
    several = len(jobs) > 1 and sum(sizes) > _WORTH_A_POOL and _cores() > 1
    results = _in_processes(jobs) if several else _one_by_one(jobs)
    # In the order of the files, whichever was done first: the same command prints the same table.
    replays: _Replays = []
    unread = others = 0
    for (_, is_named), outcome in zip(files, results, strict=True):
        if not isinstance(outcome, str):
            replays += outcome
            continue
        unread += is_named
        others += not is_named
        if is_named or others <= _REFUSED:
            say(outcome)
    if others > _REFUSED:
        say(f"{others - _REFUSED:,} more files are not transcripts either")
    replays = _named_apart(replays)
    return (_without_record(replays) if settings.adds_record else replays), unread


def _without_record(replays: _Replays) -> _Replays:
    """Remove what the agents sent if none of them compacted: they sent everything."""
    if any(transcript.compactions for transcript, _ in replays):
        return replays
    return [(transcript, (first, *others)) for transcript, (first, _, *others) in replays]


def models_in(files: Sequence[tuple[str, bool]]) -> Counter[str]:
    """Return how many of the readable sessions each model has answered."""
    transcripts = (
        each for path, _ in files if isinstance(read := _read(path), list) for each in read
    )
    return Counter(each.model for each in transcripts if each.model)


def _one_by_one(jobs: Sequence[tuple[str, ReplaySettings]]) -> list[_Replays | str]:
    """Replay files in this process, with progress by message."""
    read: list[tuple[list[Transcript] | str, ReplaySettings]] = [
        (_read(path), settings) for path, settings in jobs
    ]
    total = sum(
        len(each.messages)
        for transcripts, _ in read
        if isinstance(transcripts, list)
        for each in transcripts
    )
    with _progress(total) as advance:
        return [
            transcripts
            if isinstance(transcripts, str)
            else _replayed(transcripts, settings, advance)
            for transcripts, settings in read
        ]


def _in_processes(jobs: Sequence[tuple[str, ReplaySettings]]) -> list[_Replays | str]:
    """Replay files on all cores, with progress by file; stdin is read here."""
    outcomes: dict[int, _Replays | str] = {}
    # Not a fork: the progress bar has a thread, and a fork copies whatever lock it holds.
    workers = min(_cores(), len(jobs))
    with (
        _progress(len(jobs)) as advance,
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
                if advance:
                    advance(1)
        except BrokenProcessPool as problem:
            raise click.ClickException(
                "a process that replayed a file was killed, perhaps because memory ran out: replay "
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
    transcripts = _read(path)
    return transcripts if isinstance(transcripts, str) else _replayed(transcripts, settings, None)


def _read(path: str) -> list[Transcript] | str:
    """Return the transcripts of a file, or what is wrong with it."""
    try:
        transcripts = _read_stdin() if path == "-" else read_transcripts(path)
    except (TranscriptUnreadable, OSError) as problem:
        return describe_problem(problem)
    return [transcript.mended() for transcript in transcripts]


def _read_stdin() -> list[Transcript]:
    # It can be read only once, and is asked for its model first.
    if sys.stdin not in _STDIN:
        with open_input("-") as file:
            _STDIN[sys.stdin] = read_transcripts("stdin", file=file)
    return _STDIN[sys.stdin]


_STDIN: WeakKeyDictionary[object, list[Transcript]] = WeakKeyDictionary()
"""The transcripts in each stdin that was read."""


def _replayed(
    transcripts: Sequence[Transcript],
    settings: ReplaySettings,
    progress: Callable[[int], None] | None,
) -> _Replays:
    replays: _Replays = []
    for transcript in transcripts:
        own = settings.for_transcript(transcript)
        policies, context_limits = _parts(own)
        sizes = CountedTranscript.of(transcript, context_limits.counter)
        if transcript.is_understood:
            sizes = sizes.calibrated(context_limits.limits.context_window)
        if own.adds_record and not transcript.compactions:
            # What the agent sent is everything: the same requests are made once.
            own = attrs.evolve(own, adds_record=False)
            policies, context_limits = _parts(own)
        if sizes.calibration.requests:
            policies = own.policies(context_limits.before(sizes.calibration))
        runs = asyncio.run(
            replay(
                transcript,
                policies,
                context_limits,
                measured=sizes,
                providers=settings.providers,
                keep_views=settings.keeps_views,
                progress=progress,
            )
        )
        if settings.adds_record and not transcript.compactions:
            runs.insert(1, attrs.evolve(runs[0], policy=AS_RECORDED))
        replays.append((_with_record(transcript, sizes, runs), tuple(runs)))
    return replays


def _with_record(
    transcript: Transcript, sizes: CountedTranscript, runs: Sequence[Replayed]
) -> Transcript:
    """Return a transcript with notes about what its record was used for."""
    notes = [sizes.calibration.sentence] if sizes.calibration.requests else []
    notes += [
        f"the cost of {each.policy} is that of the record" for each in runs if each.has_record
    ]
    return attrs.evolve(transcript, notes=(*transcript.notes, *notes))


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
        choices = f"one of {', '.join(POLICIES)}, or an agent's YAML file"
        remedy = suggest(name, POLICIES, "options follow as :option=value")
        raise ConfigError("policy", name, choices, remedy)
    return make_policy(spec, context_limits)


def _policy_of_agent(path: Path) -> ReplayPolicy:
    """Return an agent's strategies and budget as a policy; a digest summarizes, not a model."""
    from agentic.app import config  # noqa: PLC0415  requires an extra

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
    counts: dict[str, int] = {}
    apart = []
    for transcript, runs in replays:
        number = counts[transcript.name] = counts.get(transcript.name, 0) + 1
        name = transcript.name if number == 1 else f"{transcript.name} ({number})"
        apart.append((attrs.evolve(transcript, name=name), runs))
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
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("replay", total=total)
        yield lambda number: bar.advance(task, number)
