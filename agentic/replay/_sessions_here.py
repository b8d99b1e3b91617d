"""The sessions that agents have left on this machine, and where each agent keeps its own.

Every place is the one that its maker documents or writes to (2026-11):

- Claude Code: https://code.claude.com/docs/en/settings, `CLAUDE_CONFIG_DIR`.
- Codex: codex-rs/rollout of https://github.com/openai/codex, `CODEX_HOME`.
- Gemini CLI: packages/core/src/config/storage.ts of https://github.com/google-gemini/gemini-cli.
- Kimi: https://moonshotai.github.io/kimi-cli/en/configuration/data-locations.html and
  https://moonshotai.github.io/kimi-code/en/guides/sessions.html.
- mini-swe-agent: `global_config_dir` in https://github.com/SWE-agent/mini-swe-agent, the folder
  that platformdirs names, `MSWEA_GLOBAL_CONFIG_DIR`; it keeps the latest run only.
- OpenCode: packages/opencode/src/global of https://github.com/sst/opencode, `XDG_DATA_HOME`.
- pi: packages/coding-agent/docs of https://github.com/badlogic/pi-mono, `PI_CODING_AGENT_DIR`.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

__all__ = ["FoundSession", "find_sessions"]


@attrs.frozen
class FoundSession:
    """A file of sessions; a database holds several."""

    agent: str
    """The name of the agent that wrote it."""
    path: Path
    changed: float
    """When it changed last, in seconds since 1970."""
    size: int
    """In bytes."""


def find_sessions(
    home: Path | None = None, folder: Path | None = None, environ: Mapping[str, str] | None = None
) -> list[FoundSession]:
    """Return the session files of all known agents, the latest first.

    Args:
        home: the home folder, by default the user's.
        folder: where agentic's own sessions are, in `.agentic/sessions`; by default here.
        environ: the variables that move an agent's folder, by default the process's.
    """
    variables = os.environ if environ is None else environ
    found = []
    for agent, place, pattern in _places(home or Path.home(), folder or Path.cwd(), variables):
        for path in place.glob(pattern):
            try:
                state = path.stat()
            except OSError:  # it has gone since it was listed, or must not be read
                continue
            if path.is_file() and state.st_size:
                found.append(FoundSession(agent, path, state.st_mtime, state.st_size))
    return sorted(found, key=lambda each: (-each.changed, str(each.path)))


def _places(
    home: Path, folder: Path, environ: Mapping[str, str]
) -> Iterator[tuple[str, Path, str]]:
    """Yield each agent's name, folder, and the files in it."""

    def place(variable: str, *default: str) -> Path:
        return Path(environ[variable]) if environ.get(variable) else home.joinpath(*default)

    own = folder / ".agentic" / "sessions"
    yield "agentic", own, "**/*.jsonl"
    yield "agentic", own, "**/*.db"
    yield "Claude Code", place("CLAUDE_CONFIG_DIR", ".claude"), "projects/*/*.jsonl"
    yield "Codex", place("CODEX_HOME", ".codex"), "sessions/**/rollout-*.jsonl"
    yield "Codex", place("CODEX_HOME", ".codex"), "archived_sessions/rollout-*.jsonl"
    yield "Gemini CLI", home / ".gemini" / "tmp", "*/chats/session-*.json*"
    yield "Kimi CLI", place("KIMI_SHARE_DIR", ".kimi"), "sessions/*/*/context.jsonl"
    kimi_code = "sessions/*/*/agents/main/wire.jsonl"
    yield "Kimi Code", place("KIMI_CODE_HOME", ".kimi-code"), kimi_code
    if environ.get("MSWEA_GLOBAL_CONFIG_DIR"):
        yield "mini-swe-agent", Path(environ["MSWEA_GLOBAL_CONFIG_DIR"]), "*.traj.json"
    else:
        yield "mini-swe-agent", place("XDG_CONFIG_HOME", ".config"), "mini-swe-agent/*.traj.json"
        support = home / "Library" / "Application Support" / "mini-swe-agent"
        yield "mini-swe-agent", support, "*.traj.json"
    opencode = place("XDG_DATA_HOME", ".local", "share") / "opencode"
    yield "OpenCode", opencode, "opencode.db"
    yield "OpenCode", opencode, "storage/session/*/*.json"
    yield "pi", place("PI_CODING_AGENT_DIR", ".pi", "agent"), "sessions/*/*.jsonl"
