from collections.abc import Callable
from pathlib import Path

import pytest

from agentic.app import config
from agentic.app.config._load import list_agents
from agentic.app.config._records import StoreSettings, TruncationSettings
from agentic.app.config._strategies import StrategySettings
from agentic.errors import ConfigError
from agentic.truncate import Mode

WHOLE = """
name: researcher
description: Looks things up.
model: anthropic:claude-sonnet-4-5
model_options: {temperature: 0}
context_window: 100_000
system_prompt: |
  Be thorough.
  Cite ${SOURCES}.
tools: [recall]
context:
  auto_summarize: false
  max_messages_before_summary: 50
  max_tokens_before_summary: 90000
  min_recent_messages: 8
  response_reserve: 5000
  summary_model: digest
truncation: {mode: middle, max_lines: null, max_bytes: 16 kb}
strategies:
  - clear_tool_outputs: {max_tokens: 40000, keep_tools: [recall]}
  - keep_last
store: {kind: sqlite, path: "${HOME}/sessions.db"}
max_turns: 7
tool_timeout_seconds: null
turn_output_bytes: 4096
"""


def test_missing_keys_have_documented_defaults() -> None:
    """The keys of `context`, and their values, are those that the row states."""
    settings = config.loads("{}").context

    assert settings == config.ContextSettings(
        auto_summarize=True,
        max_messages_before_summary=30,
        max_tokens_before_summary=128_000,
        min_recent_messages=6,
        response_reserve=4096,
        summary_model=None,
    )


def test_every_key_is_read() -> None:
    """A file that writes everything is taken as it stands."""
    agent = config.loads(WHOLE, environ={"HOME": "/somewhere"})

    assert agent == config.AgentConfig(
        name="researcher",
        description="Looks things up.",
        model="anthropic:claude-sonnet-4-5",
        model_options={"temperature": 0},
        context_window=100_000,
        system_prompt="Be thorough.\nCite ${SOURCES}.\n",
        tools=("recall",),
        context=config.ContextSettings(
            auto_summarize=False,
            max_messages_before_summary=50,
            max_tokens_before_summary=90_000,
            min_recent_messages=8,
            response_reserve=5000,
            summary_model="digest",
        ),
        truncation=TruncationSettings(mode="middle", max_lines=None, max_bytes=16 * 1024),
        strategies=(
            StrategySettings(
                "clear_tool_outputs", {"max_tokens": 40_000, "keep_tools": ["recall"]}
            ),
            StrategySettings("keep_last"),
        ),
        store=StoreSettings(kind="sqlite", path="/somewhere/sessions.db"),
        max_turns=7,
        tool_timeout_seconds=None,
        turn_output_bytes=4096,
    )


def test_empty_section_has_its_defaults() -> None:
    """What is left of `context:` is null to YAML."""
    empty = "context:\n  # min_recent_messages: 3\ntools:\nstrategies:\nstore:\ntruncation:\n"

    assert config.loads(empty) == config.loads("{}")


def test_truncation_is_switched_off_by_false() -> None:
    """False is none at all, which null is not."""
    assert config.loads("truncation: false").truncation is None
    kept = config.loads("truncation:").truncation
    assert kept is not None
    assert (kept.options().mode, kept.options().max_bytes) == (Mode.TAIL, 51_200)


@pytest.mark.parametrize(
    ("written", "given"),
    [("512", 512), ("50KB", 51_200), ("1 MiB", 1024**2), ("'7'", 7), ("3k", 3072), ("null", None)],
)
def test_bytes_may_have_a_unit(written: str, given: int | None) -> None:
    """A kilobyte has 1,024 of them."""
    found = config.loads(f"truncation: {{max_bytes: {written}}}").truncation

    assert found is not None
    assert found.options().max_bytes == given


@pytest.mark.parametrize("written", ["no", "2024-01-01", "010", "1:30", "0x1F", "1__0", "=", "<<"])
def test_what_looks_like_text_is_text(written: str) -> None:
    """None of the surprises of YAML 1.1: an editor reads the same."""
    assert config.loads(f"description: {written}").description == written


def test_agent_is_found_by_name_or_file(tmp_path: Path) -> None:
    """A name is a file of the folder `agents`; a path is that file."""
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "quick.yaml").write_text(
        "context:\n  max_messages_before_summary: 15\n  max_tokens_before_summary: 32000\n"
    )
    (agents / "researcher.yml").write_text(
        "context:\n  max_messages_before_summary: 50\n  max_tokens_before_summary: 180000\n"
    )

    quick, researcher = config.find("quick", tmp_path), config.find("researcher", tmp_path)

    assert (quick.name, quick.policy().max_messages, quick.policy().max_tokens) == (
        "quick",
        15,
        32_000,
    )
    assert researcher.context.max_messages_before_summary == 50
    assert researcher.context.max_tokens_before_summary == 180_000
    assert config.load(agents / "quick.yaml") == quick
    assert config.find("agents/quick.yaml", tmp_path) == quick
    assert quick.path == agents / "quick.yaml"
    assert list(list_agents(tmp_path)) == ["quick", "researcher"]


def test_agents_folder_is_searched_first(tmp_path: Path) -> None:
    """`agents/` goes first, and `.yaml` before `.yml`."""
    (tmp_path / "solo.yml").write_text("max_turns: 1")

    assert config.find("solo", tmp_path).max_turns == 1

    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "solo.yml").write_text("max_turns: 2")
    (tmp_path / "agents" / "solo.yaml").write_text("max_turns: 3")

    assert config.find("solo", tmp_path).max_turns == 3
    assert list_agents(tmp_path)["solo"].name == "solo.yaml"


def test_unknown_agent_lists_the_known_ones(tmp_path: Path) -> None:
    """And what it may have been meant to be."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "researcher.yaml").write_text("{}")

    with pytest.raises(ConfigError, match=r"no agent named 'reseacher'; did you mean 'researcher'"):
        config.find("reseacher", tmp_path)
    with pytest.raises(ConfigError, match=r"create .*NAME.yaml"):
        config.find("", tmp_path / "agents")
    with pytest.raises(ConfigError, match="no agent named 'longlong"):  # longer than a file's name
        config.find("long" * 100, tmp_path)


def test_name_is_made_of_file_name(tmp_path: Path) -> None:
    """Whatever the file is called, its sessions have a folder."""
    path = tmp_path / "my agent.yaml"
    path.write_text("{}")

    assert config.load(path).name == "my-agent"
    assert config.load(str(path)).name == "my-agent"


def test_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    """An editor on another system wrote the file."""
    path = tmp_path / "agent.yaml"
    path.write_bytes(b"\xef\xbb\xbfmax_turns: 3\r\nname: x\r\n")

    assert (config.load(path).max_turns, config.load(path).name) == (3, "x")


def test_import_needs_no_extra_reading_does(
    run_python: Callable[[str], str], remedy: Callable[[str], str]
) -> None:
    """The message is the line that installs it."""
    printed = run_python(
        "import sys; sys.modules['yaml'] = None\n"
        "from agentic.app import config\n"
        "config.AgentConfig(model='anthropic:claude-sonnet-4-5')\n"
        "try: config.loads('{}')\n"
        "except ImportError as absent: print(absent)"
    )

    assert printed == f"agentic.app.config needs PyYAML and cattrs: {remedy('config')}"


def test_program_itself_is_no_missing_module(run_python: Callable[[str], str]) -> None:
    """A console script runs as `__main__`, which was not imported from anywhere."""
    printed = run_python(
        "from agentic.app import config\n"
        "try: config.loads('modle: x\\ntools: [\"__main__:look\"]')\n"
        "except config.ConfigProblems as mistaken: print(mistaken)"
    )

    assert printed == "agent:1: unknown key 'modle' (did you mean 'model'?)"


@pytest.mark.parametrize("given", [3, None, b"model: x"])
def test_other_types_than_text_are_refused(given: object) -> None:
    """At the door, by name."""
    with pytest.raises(ConfigError, match="a str or a Path"):
        config.load(given)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="a str"):
        config.loads(given)  # type: ignore[arg-type]
