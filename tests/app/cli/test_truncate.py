import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic import truncate

LOG = b"".join(b"step %d\n" % n for n in range(1, 5_001))
AGENTIC = [sys.executable, "-m", "agentic", "truncate"]


def piped(source: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Truncate what a shell command prints, as a user would."""
    line = f"{source} | {shlex.join([*AGENTIC, *arguments])}"
    return subprocess.run(["sh", "-c", line], capture_output=True, timeout=60, check=True)


@pytest.mark.parametrize("mode", ["head", "tail", "middle"])
@pytest.mark.parametrize("from_file", [False, True])
def test_it_prints_what_the_library_keeps(
    agentic: Any, tmp_path: Path, mode: str, *, from_file: bool
) -> None:
    """One truncation, and a door to it in the shell."""
    (tmp_path / "log").write_bytes(LOG)
    wanted = truncate.Options(mode=mode, max_lines=100).apply(LOG.decode())

    given = ["log"] if from_file else []
    given = [str(tmp_path / name) for name in given]
    done = agentic("truncate", f"--{mode}", "--lines", "100", *given, stdin=LOG)

    assert done.status == 0
    assert done.out.rstrip("\n") == wanted.content.rstrip("\n")
    assert done.err == f"agentic: {wanted.notice(*given)}\n"


def test_end_is_kept_unless_told_otherwise(agentic: Any) -> None:
    """The verdict of a command stands last."""
    done = agentic("truncate", "-n", "2", stdin=b"one\ntwo\nthree\n")

    assert done.out == "two\nthree\n"


def test_short_text_passes_silently_unchanged(agentic: Any) -> None:
    """No notice, no newline that was not there."""
    done = agentic("truncate", stdin=b"one\ntwo")

    assert (done.status, done.out, done.err) == (0, "one\ntwo", "")


def test_whole_lines_are_those_of_head(agentic: Any) -> None:
    """Each with its newline, the last one too."""
    assert agentic("truncate", "--head", "-n", "2", stdin=LOG).out == "step 1\nstep 2\n"
    assert agentic("truncate", "--head", "-c", "6", stdin=LOG).out == "step 1"
    assert agentic("truncate", "--head", "-c", "7", stdin=LOG).out == "step 1\n"
    assert agentic("truncate", "--head", "-c", "3", stdin=LOG).out == "ste"


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.binary(max_size=60), mode=st.sampled_from(["head", "tail"]), size=st.integers(1, 70))
def test_odd_bytes_pass_unchanged(agentic: Any, raw: bytes, mode: str, size: int) -> None:
    """What is kept is a part of what was given, never more than the limit, never replaced."""
    done = agentic("truncate", f"--{mode}", "--bytes", str(size), stdin=raw)

    kept = done.raw
    assert raw.startswith(kept) if mode == "head" else raw.endswith(kept)
    assert len(kept) <= size
    assert bool(done.err) == (kept != raw)


@pytest.mark.parametrize("from_file", [False, True])
@pytest.mark.parametrize("mode", ["head", "tail", "middle"])
def test_odd_bytes_within_limits_stay(
    agentic: Any, tmp_path: Path, mode: str, *, from_file: bool
) -> None:
    """A file of 60 bytes is within 60 bytes, though a model would get three for each."""
    (tmp_path / "raw").write_bytes(b"\xff" * 60)
    given = [str(tmp_path / "raw")] if from_file else []

    done = agentic("truncate", f"--{mode}", "-c", "60", *given, stdin=b"\xff" * 60)

    assert (done.status, done.raw, done.err) == (0, b"\xff" * 60, "")


@pytest.mark.parametrize("limit", ["--lines", "--bytes"])
@pytest.mark.parametrize("mode", ["head", "tail", "middle"])
def test_a_limit_of_nothing_prints_nothing(agentic: Any, mode: str, limit: str) -> None:
    """As head -n 0 does; what is on stderr says so."""
    done = agentic("truncate", f"--{mode}", limit, "0", stdin=LOG)

    assert (done.status, done.raw) == (0, b"")
    assert done.err == "agentic: Nothing is shown: the limit is 0, so nothing was read.\n"


def test_limit_of_nothing_never_waits() -> None:
    """The pipe may be endless."""
    said = json.loads(piped("yes", "--json", "-c", "0").stdout)

    assert (said["content"], said["truncated"], said["total_bytes"]) == ("", True, None)


def test_one_byte_is_one_byte() -> None:
    """A notice is a sentence."""
    done = piped("yes yes", "--head", "-c", "1")

    assert done.stdout == b"y"
    assert done.stderr.startswith(b"agentic: Only the first byte of the first line is shown: ")


def test_json_has_text_measure_and_notice(agentic: Any) -> None:
    """A program reads all of it at once; bytes that are not text are U+FFFD there."""
    done = agentic("truncate", "--json", "-n", "1", stdin=b"one\n\xff\n")

    said = json.loads(done.out)
    assert said["content"] == "\ufffd\n"
    assert (said["truncated"], said["truncated_by"], said["mode"]) == (True, "lines", "tail")
    assert (said["total_lines"], said["total_bytes"], said["output_bytes"]) == (2, 6, 2)
    assert said["notice"].startswith("1 of 2 lines is missing")
    assert done.err == ""


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["no-such-file"], 1, "agentic: no-such-file: no such file or directory\n"),
        (["."], 1, "agentic: .: is a directory\n"),
        (["--bytes", "50XB"], 2, "'50XB' is not a whole size such as 800, 50KB"),
        (["--lines", "-1"], 2, "'-1' is not a whole number, or 'all'"),
        ([""], 2, "the name of a file is empty: name one, or - for stdin"),
        (["--head", "--tail"], 2, "agentic: --head and --tail cannot be used together. See"),
        (["-20"], 2, "No such option"),
    ],
)
def test_a_mistake_is_one_sentence(
    agentic: Any, arguments: list[str], status: int, said: str
) -> None:
    """It names what was given; nothing is printed to stdout."""
    done = agentic("truncate", *arguments)

    assert done.status == status
    assert said in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""


def test_an_endless_pipe_ends_at_once() -> None:
    """What is not read is not counted, and the notice says so."""
    done = piped("yes", "--head", "--json", "--lines", "2")

    said = json.loads(done.stdout)
    assert said["content"] == "y\ny"
    assert said["total_lines"] is None
    assert said["notice"] == (
        "Only the first 2 lines are shown: the rest was not read, so it is not known how much "
        "is missing."
    )


def test_a_slow_pipe_is_not_awaited() -> None:
    """Once it has its lines it ends, as head(1) does, and says that it did not look further."""
    with subprocess.Popen(
        [*AGENTIC, "--head", "-n", "2"], stdin=-1, stdout=-1, stderr=-1
    ) as running:
        assert running.stdin
        assert running.stdout
        assert running.stderr
        running.stdin.write(b"one\ntwo\n")
        running.stdin.flush()
        out, err = running.stdout.read(), running.stderr.read()

    assert out == b"one\ntwo\n"
    assert b"the rest was not read" in err


def test_a_pipe_may_end_at_the_limit() -> None:
    """Exactly as many lines as asked for: nothing is missing, nothing is said."""
    done = piped("printf 'one\\ntwo\\n'", "--head", "-n", "2")

    assert (done.stdout, done.stderr) == (b"one\ntwo\n", b"")


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="nothing tells the peak here")
@pytest.mark.parametrize("mode", ["head", "tail", "middle"])
def test_memory_depends_on_the_limits_alone(tmp_path: Path, mode: str) -> None:
    """At most 40 MB for the process and all, in a few seconds."""
    line = b"2026-11-21 10:15:02 INFO worker-7 finished job 48151 in 23 ms\n"
    with (tmp_path / "big").open("wb") as big:
        for _ in range(1_000):
            big.write(line * (1_000_000 // len(line)))
    # Unlike what getrusage tells, this begins anew with the program: the parent's is not in it.
    program = (
        "import sys; from agentic.app.cli import main; main();"
        "peak = [line for line in open('/proc/self/status') if line.startswith('VmHWM')];"
        "print(peak[0].split()[1], file=sys.stderr)"
    )

    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program, "truncate", f"--{mode}", "big"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )

    peak_kilobytes = int(done.stderr.split()[-1])
    assert peak_kilobytes < 40_000
    assert time.monotonic() - start < 60
    assert len(done.stdout) <= 51_200


def test_one_limit_applies_alone_in_shell(agentic: Any) -> None:
    """As in the library: whoever names bytes is not cut by lines."""
    long_lines = b"y" * 99 + b"\n"

    assert agentic("truncate", "-c", "1MB", stdin=LOG).raw == LOG
    assert agentic("truncate", "-n", "1000", stdin=long_lines * 1_000).raw == long_lines * 1_000
    assert agentic("truncate", "-n", "all", stdin=long_lines * 1_000).err
    assert agentic("truncate", "-c", "all", stdin=LOG).err
