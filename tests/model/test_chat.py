"""The command's chat with a model that really runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.model

AGENT = """\
name: local
model: openai_chat:smollm2
context_window: 2048
model_options: {max_tokens: 32, temperature: 0}
system_prompt: You are a helpful assistant. Answer in one short sentence.
context: {summary_model: digest, min_recent_messages: 2, response_reserve: 256}
"""


def chat(server: str, folder: Path, *lines: str) -> subprocess.CompletedProcess[str]:
    """Put requests and commands to an agent, each a line."""
    return subprocess.run(
        [sys.executable, "-m", "agentic", "chat", "agent.yaml", "--session", "work"],
        cwd=folder,
        env={**os.environ, "OPENAI_BASE_URL": f"{server}/v1", "OPENAI_API_KEY": "none"},
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_conversation_is_held_summarized_and_resumed(server: str, tmp_path: Path) -> None:
    """Replies come, the size is what the server reports, and the next process goes on."""
    (tmp_path / "agent.yaml").write_text(AGENT)

    aside = "My list has " + ", ".join(f"{number} apples" for number in range(100, 250)) + ". "

    first = chat(
        server, tmp_path, f"{aside}What is the capital of France?", "And of Italy?", "/summarize"
    )
    second = chat(server, tmp_path, "/context", "Say hello.")

    assert first.returncode == 0, first.stderr
    assert "Paris" in first.stdout
    assert re.search(r"\[\d+ / 1,792 tokens \(\d+%\)\]", first.stderr)
    assert "2 messages summarized, " in first.stdout
    assert "Resuming session work\n4 messages in history (2 summarized)" in second.stderr
    assert "  Last summary: 2 messages → " in second.stdout
    assert second.returncode == 0, second.stderr
    assert len(second.stdout.splitlines()) > 8
