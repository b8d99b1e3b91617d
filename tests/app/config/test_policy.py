import ast
from pathlib import Path

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentic
from agentic import limits
from agentic.app import config
from agentic.app.config._records import TruncationSettings
from agentic.context.budget import Policy
from agentic.errors import ConfigError
from agentic.providers.anthropic._decider import reply_tokens

_LIMITS = sorted(limits.CONTEXT_LIMITS.items(), reverse=True)
_OLLAMA = "model: ollama:qwen3\ncontext_window: 32768\n"


def test_each_knob_has_its_policy_place() -> None:
    """Row for row of the table of names."""
    agent = config.loads(
        "context_window: 100000\n"
        "context:\n"
        "  response_reserve: 9000\n"
        "  max_messages_before_summary: 40\n"
        "  max_tokens_before_summary: 70000\n"
        "  min_recent_messages: 12\n"
        "  max_request_bytes: 3000000\n"
        "  max_images: 0\n"
    )

    assert agent.policy() == Policy(
        100_000,
        9000,
        20_000,
        max_messages=40,
        max_tokens=70_000,
        min_recent_messages=12,
        max_request_bytes=3_000_000,
        max_images=0,
    )


def test_models_name_decides_the_window() -> None:
    """Written, it is what is written; of a model nobody knows, the smallest in use."""
    windows = [
        config.loads(text).limits().context_window
        for text in (
            "model: openai_chat:gpt-4o",
            "model: openai_chat:gpt-oss:20b",
            "model: openai_chat:gpt-4o\ncontext_window: 5000",
            "model: openai_chat:my-own",
            "{}",
        )
    ]

    assert windows == [128_000, 131_072, 5_000, 8_192, 8_192]


def test_own_decider_tells_its_window(project: Path) -> None:
    """One that does not is assumed to be small."""
    windows = [
        config.loads(f"model: my_agent.py:{name}", folder=project).policy().context_window
        for name in ("Offline", "ready", "Bare")
    ]

    assert windows == [200_000, 64_000, 8_192]


@pytest.mark.parametrize(
    ("text", "reserve", "most", "recent"),
    [
        ("context_window: 8192", 2048, None, 6),
        ("context_window: 1", 0, None, 6),
        ("context_window: 5000\ncontext: {max_messages_before_summary: 30}", 2500, 30, 6),
        ("context_window: 1\ncontext: {max_messages_before_summary: 30}", 0, 30, 6),
        ("context: {max_messages_before_summary: 10}", 4096, 10, 6),
        ("context: {max_messages_before_summary: 5}", 4096, 5, 1),
        ("context: {max_messages_before_summary: 2}", 4096, 2, 1),
        ("context: {min_recent_messages: 40}", 4096, 44, 40),
        ("context: {min_recent_messages: 40, max_messages_before_summary: null}", 4096, None, 40),
        ("context: {min_recent_messages: 6, max_messages_before_summary: 7}", 4096, 7, 6),
        ("context: {response_reserve: 8191}", 8191, 30, 6),
    ],
)
def test_numbers_that_nobody_wrote_give_way(
    text: str, reserve: int, most: int | None, recent: int
) -> None:
    """A default is never the reason of an error."""
    policy = config.loads(text).policy()

    assert (policy.reserve_tokens, policy.max_messages, policy.min_recent_messages) == (
        reserve,
        most,
        recent,
    )


@pytest.mark.parametrize(
    ("text", "reserve"),
    [
        ("model: anthropic:claude-opus-4-1", 16_384),
        ("model: anthropic:claude-opus-4-5", 32_000),
        ("model: anthropic:claude-opus-4-1\nmodel_options: {max_tokens: 1000}", 16_384),
        ("model: anthropic:claude-opus-4-1\ncontext: {response_reserve: 5000}", 5_000),
        ("model: anthropic:claude-sonnet-5", 125_000),
        ("model: openai_chat:gpt-4o", 16_384),
        ("model: openai_chat:gpt-4o\nmodel_options: {max_tokens: 20000}", 20_000),
        ("model: openai_chat:gpt-oss-120b\nmodel_options: {max_tokens: 131072}", 65_536),
        ("model: bedrock:x\nmodel_options: {inferenceConfig: {maxTokens: 6000}}", 4_096),
        ("model: openai_responses:gpt-4o\nmodel_options: {max_output_tokens: 17000}", 17_000),
        ("model: gemini:gemini-2.5-pro\nmodel_options: {max_output_tokens: 17000}", 17_000),
        ("model: gemini:gemini-2.5-pro\nmodel_options: {maxOutputTokens: 17000}", 17_000),
        (f"{_OLLAMA}model_options: {{options: {{num_predict: 9000}}}}", 9_000),
        (f"{_OLLAMA}model_options: {{options: {{num_predict: -1}}}}", 8_192),
        ("model: my_agent.py:Offline", 16_384),
    ],
)
def test_reserve_has_room_for_the_reply(text: str, reserve: int, project: Path) -> None:
    """As long as the request asks for it to be, but half the window at most."""
    agent = config.loads(text, folder=project)
    assert agent.policy().reserve_tokens == reserve


@pytest.mark.parametrize("key", ["tokens_per_media", "max_request_bytes", "max_images"])
def test_other_numbers_leave_the_triggers(key: str) -> None:
    """What media count, and what a provider takes, is no part of supyagent's table."""
    policy = config.loads(f"context_window: 128000\ncontext: {{{key}: 700}}").policy()

    assert policy == attrs.evolve(Policy.for_window(128_000), **{key: 700})


@pytest.mark.parametrize("name", sorted({each: name for name, each in _LIMITS}.values()))
def test_every_model_gets_a_fitting_policy(name: str) -> None:
    """Also one whose longest reply is as long as its window."""
    agent = config.loads(f"model: anthropic:{name}")

    asked = reply_tokens(agent.limits())
    assert agent.policy().available_tokens + asked <= agent.limits().context_window


def test_small_window_triggers_before_large_k() -> None:
    """K is 128,000 and never reached: what the window has beside its reserve is."""
    text = "context_window: 8192\ncontext: {min_recent_messages: 6}"
    policy = config.loads(text).policy()

    assert (policy.max_tokens, policy.available_tokens) == (128_000, 4096)


@settings(max_examples=50)
@given(
    window=st.integers(1, 300_000),
    most=st.none() | st.integers(2, 200),
    recent=st.none() | st.integers(1, 200),
    reserve=st.none() | st.integers(0, 300_000),
)
def test_any_settings_give_policy_or_problems(
    window: int, most: int | None, recent: int | None, reserve: int | None
) -> None:
    """The window, N, the recent messages and the reserve, in any combination."""
    written = {
        "max_messages_before_summary": most,
        "min_recent_messages": recent,
        "response_reserve": reserve,
    }
    lines = [f"  {key}: {value}\n" for key, value in written.items() if value is not None]
    text = f"context_window: {window}\ncontext:\n{''.join(lines)}"
    clash = (most is not None and recent is not None and most <= recent) or (
        reserve is not None and reserve >= window
    )

    try:
        policy = config.loads(text).policy()
    except config.ConfigProblems:
        assert clash
    else:
        assert not clash
        assert policy.max_messages == most or most is None
        assert policy.min_recent_messages == recent or recent is None
        assert policy.reserve_tokens == reserve or reserve is None


def test_deciders_window_contradiction_names_the_line(project: Path) -> None:
    """The contradiction is found when the part is made, and told as any other."""
    path = project / "small.yaml"
    path.write_text("model: my_agent.py:Offline\ncontext:\n  response_reserve: 200000\n")

    with pytest.raises(config.ConfigProblems) as caught:
        config.load(path).policy()

    assert str(caught.value).startswith(f"{path}:3: context.response_reserve must be less than")


def test_python_numbers_follow_the_same_rules() -> None:
    """A record is made by hand, or it is read."""
    with pytest.raises(ConfigError, match="a whole number >= 2"):
        config.ContextSettings(max_messages_before_summary=1)
    both = config.ContextSettings(max_messages_before_summary=7, min_recent_messages=8)
    with pytest.raises(ConfigError, match=r"more than min_recent_messages \(8\)"):
        config.AgentConfig(context=both).policy()
    with pytest.raises(ConfigError, match="bytes above 0"):
        TruncationSettings(max_bytes="many")  # type: ignore[arg-type]


def test_budget_numbers_are_written_once() -> None:
    """What the policy of a budget says by default is read from it, and row B9's are the file's."""
    root = Path(agentic.__file__).parent
    found = {
        (node.value, path.relative_to(root).as_posix())
        for room in ("app/config", "app/cli", "app/chat", "session", "context/budget")
        for path in [*(root / room).rglob("*.py"), root / "limits/_model_limits.py"]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in (4_096, 16_384, 20_000, 128_000)
    }

    assert sorted(found) == [
        (4_096, "app/config/_records.py"),
        (16_384, "limits/_model_limits.py"),
        (20_000, "context/budget/_policy.py"),
        (128_000, "app/config/_records.py"),
    ]
    assert config.ContextSettings().min_recent_messages == Policy(0).min_recent_messages


@given(window=st.integers(1, 10**6))
def test_policy_keeps_what_a_budget_keeps(window: int) -> None:
    """Unless that leaves no room for a summary, what stays is the default of the budget."""
    text = f"context_window: {window}\ncontext: {{max_messages_before_summary: 30}}\n"
    policy = config.loads(text).policy()

    assert policy.keep_recent_tokens <= Policy(window).keep_recent_tokens
    assert policy.keep_recent_tokens <= policy.available_tokens * 2 // 3
    assert policy.keep_recent_tokens in (
        Policy(window).keep_recent_tokens,
        policy.available_tokens * 2 // 3,
        128_000 * 2 // 3,
    )
