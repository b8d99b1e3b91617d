import copy
import pickle
from pathlib import Path

import pytest

from agentic.app import config
from agentic.app.config import ConfigProblems
from agentic.app.config._problems import Problem
from agentic.errors import AgenticError, ConfigError

BOMB = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)


def _problems(text: str) -> list[Problem]:
    with pytest.raises(ConfigProblems) as caught:
        config.loads(text, "quick.yaml", environ={})
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modle: a:b", ":1: unknown key 'modle' (did you mean 'model'?)"),
        (
            "context:\n  max_messages: 3",
            ":2: unknown key 'max_messages' (did you mean 'max_messages_before_summary'?)",
        ),
        ("max_turns: many", ':1: max_turns must be a whole number >= 1, got "many"'),
        ("max_turns: true", ":1: max_turns must be a whole number >= 1, got true"),
        ("max_turns: 2.0", ":1: max_turns must be a whole number >= 1, got 2.0"),
        ("max_turns: null", ":1: max_turns must be a whole number >= 1, got null"),
        (
            "name: 3",
            (
                ":1: name must be 1 to 64 characters without space, slash and colon, not "
                "beginning with . or -, got 3; write it in quotes"
            ),
        ),
        (
            "name: ../up",
            (
                ":1: name must be 1 to 64 characters without space, slash and colon, not "
                'beginning with . or -, got "../up"; write another name, such as helper, or '
                "leave it out"
            ),
        ),
        (
            "context: 3",
            ":1: context must be keys with their values, such as auto_summarize: ..., got 3",
        ),
        (
            "context:\n  auto_summarize: yes",
            ':2: context.auto_summarize must be true or false, got "yes"; leave it out for true',
        ),
        (
            "context:\n  max_messages_before_summary: 1",
            ":2: context.max_messages_before_summary must be a whole number >= 2 or null, got 1",
        ),
        (
            "context:\n  summary_model: cheap",
            (
                ":2: context.summary_model must be digest, PROVIDER:NAME (anthropic, bedrock, "
                "cohere, gemini, ollama, openai_chat, openai_responses), FILE.py:NAME or "
                'PACKAGE.MODULE:NAME or null, got "cheap"; '
                "put the provider before the name, as in openai_chat:cheap"
            ),
        ),
        ("context:\n  summary_model: no.py:X", ":2: no.py:X: no such file: "),
        (
            "tool_timeout_seconds: 0",
            (
                ":1: tool_timeout_seconds must be a number of seconds above 0, or null, got 0; "
                "pass null to wait forever"
            ),
        ),
        ("system_prompt: [a]", ':1: system_prompt must be a text, got ["a"]; write it in quotes'),
        (
            "model: qwen3",
            (
                ":1: model must be PROVIDER:NAME (anthropic, bedrock, cohere, gemini, ollama, "
                "openai_chat, openai_responses), FILE.py:NAME or PACKAGE.MODULE:NAME or null, "
                'got "qwen3"; '
                "put the provider before the name, as in openai_chat:qwen3"
            ),
        ),
        (
            "model: openai:gpt-4.1",
            (
                ":1: model must be PROVIDER:NAME (anthropic, bedrock, cohere, gemini, ollama, "
                "openai_chat, openai_responses), FILE.py:NAME or PACKAGE.MODULE:NAME, "
                'got "openai:gpt-4.1"; '
                "did you mean 'openai_chat:gpt-4.1'?"
            ),
        ),
        (
            "model: dec.py",
            (
                ":1: model must be PROVIDER:NAME (anthropic, bedrock, cohere, gemini, ollama, "
                "openai_chat, openai_responses), FILE.py:NAME or PACKAGE.MODULE:NAME or null, "
                'got "dec.py"; '
                "write the name in it after the file's, as in dec.py:Agent"
            ),
        ),
        (
            "model: 'dec.py:'",
            (
                ":1: model must be PROVIDER:NAME (anthropic, bedrock, cohere, gemini, ollama, "
                "openai_chat, openai_responses), FILE.py:NAME or PACKAGE.MODULE:NAME or null, "
                'got "dec.py:"; '
                "write the name in it after the file's, as in dec.py:Agent"
            ),
        ),
        (
            "context: {summary_model: dec.py}",
            (
                ":1: context.summary_model must be digest, PROVIDER:NAME (anthropic, bedrock, "
                "cohere, gemini, ollama, openai_chat, openai_responses), FILE.py:NAME or "
                'PACKAGE.MODULE:NAME or null, got "dec.py"; '
                "write the name in it after the file's, as in dec.py:Agent"
            ),
        ),
        (
            "model: 3",
            (
                ":1: model must be PROVIDER:NAME (anthropic, bedrock, cohere, gemini, ollama, "
                "openai_chat, openai_responses), FILE.py:NAME or PACKAGE.MODULE:NAME or null, "
                "got 3; put the "
                "provider before the name, as in openai_chat:gpt-4.1"
            ),
        ),
        (
            "name: ''",
            (
                ":1: name must be 1 to 64 characters without space, slash and colon, not "
                'beginning with . or -, got ""; write another name, such as helper, or leave it '
                "out"
            ),
        ),
        (
            "name: ../../x",
            (
                ":1: name must be 1 to 64 characters without space, slash and colon, not "
                'beginning with . or -, got "../../x"; write another name, such as helper, or '
                "leave it out"
            ),
        ),
        ("system_prompt: null", ":1: system_prompt must be a text, got null; leave it out"),
        ("description: 3", ":1: description must be a text, got 3; write it in quotes"),
        (
            "store: {path: ''}",
            ':1: store.path must be a path or null, got ""; write one, or leave it out',
        ),
        ("model: absent.py:Offline", ":1: absent.py:Offline: no such file: "),
        ("model: ~nobody-here/agent.py:Own", ":1: ~nobody-here/agent.py: there is no such home"),
        ("tools: [~nobody-here/t.py:read]", ":1: ~nobody-here/t.py: there is no such home"),
        (f"tools: [{'long' * 100}.py:read]", ".py:read: no such file: "),
        ("record_role: tool", ':1: record_role must be user or system, got "tool"; leave'),
        ("strict_roles: 1", ":1: strict_roles must be true, false or null, got 1"),
        (
            "model: anthropic:claude-opus-4-5\nstrict_roles: true",
            ":2: strict_roles concerns openai_chat and ollama only; leave it out",
        ),
        (
            "model: package.agent:Own\nrecord_role: system",
            ":2: record_role: system concerns a provider's",
        ),
        ("model_options: 3", ":1: model_options must be options with their values, got 3"),
        ("tools: recall", ':1: tools must be a list, got "recall"; begin each item with -'),
        (
            "tools:\n- recall\n- 3",
            ":3: tools[1] must be recall, FILE.py:NAME or PACKAGE.MODULE:NAME, got 3",
        ),
        ("tools: [read]", ':1: tools[0] must be FILE.py:NAME or PACKAGE.MODULE:NAME, got "read"'),
        (
            "tools: ['my tools:read']",
            ':1: tools[0] must be FILE.py:NAME or PACKAGE.MODULE:NAME, got "my tools:read"',
        ),
        ("strategies:\n- keep_lst", ":2: unknown strategy 'keep_lst' (did you mean 'keep_last'?)"),
        (
            "strategies: [[]]",
            (
                ":1: strategies[0] must be one of clear_tool_outputs, fit_window, importance, "
                "keep_last, trim_rounds, truncate_tool_outputs, with its arguments after a "
                "colon, got []"
            ),
        ),
        (
            "strategies: [{keep_last: 3}]",
            (
                ":1: strategies[0].keep_last must be arguments by name (keep_recent, "
                "preserve_system, preserve_tool_chains), got 3"
            ),
        ),
        (
            "strategies: [{keep_last: {}, trim_rounds: {}}]",
            (
                ":1: strategies[0] must be one of clear_tool_outputs, fit_window, importance, "
                "keep_last, trim_rounds, truncate_tool_outputs, with its arguments after a "
                'colon, got {"keep_last": {}, "trim_rounds": {}}'
            ),
        ),
        ("strategies: [trim_rounds]", ":1: trim_rounds needs max_rounds, a number"),
        (
            "strategies: [keep_last: {counter: x}]",
            (
                ":1: unknown key 'counter' (known keys: keep_recent, preserve_system, "
                "preserve_tool_chains)"
            ),
        ),
        (
            "strategies: [{clear_tool_outputs: {max_tokens: 9, keep_tools: read}}]",
            (
                ":1: strategies[0].clear_tool_outputs.keep_tools must be a list of texts, got "
                '"read"; write [one, two]'
            ),
        ),
        (
            "store: {kind: mysql}",
            (
                ':1: store.kind must be jsonl, sqlite, postgres or memory, got "mysql"; leave it '
                "out for jsonl"
            ),
        ),
        (
            "store: {kind: postgres}",
            (
                ":1: a postgres store needs a dsn; add dsn: postgresql://localhost/agents, or "
                "dsn: ${DATABASE_URL}"
            ),
        ),
        (
            "store: {dsn: x}",
            ":1: store.dsn is not used by a jsonl store; leave it out, or change kind",
        ),
        (
            "store: {kind: memory, path: x}",
            ":1: store.path is not used by a memory store; leave it out, or change kind",
        ),
        ("store: {path: '${NOWHERE}/x'}", ":1: environment variable NOWHERE is not set"),
        (
            "truncation: {mode: off}",
            ':1: truncation.mode must be head, tail or middle, got "off"; leave it out for tail',
        ),
        (
            "truncation: {max_bytes: 50XB}",
            (
                ":1: truncation.max_bytes must be a number of bytes above 0, a size such as "
                '50KB, or null, got "50XB"'
            ),
        ),
        (
            "truncation: true",
            ":1: truncation must be keys with their values, such as mode: ..., got true",
        ),
        ("max_turns: 2\nmax_turns: 3", ":2: duplicate key 'max_turns', first given in line 1"),
        ("? [a]\n: b", ":1: a key must be a word before a colon"),
    ],
)
def test_mistake_names_file_line_and_key(text: str, said: str) -> None:
    """In one sentence: what is wrong, and how to fix it where that is not obvious."""
    [problem] = _problems(text)

    assert str(problem).startswith("quick.yaml:")
    assert said in str(problem)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, ":1: the file is empty; begin with a line such as max_turns: 50"),
        (
            "# only a comment\n\n",
            1,
            ":1: the file is empty; begin with a line such as max_turns: 50",
        ),
        ("- a", 1, ':1: the file must be keys with their values, such as name: ..., got ["a"]'),
        (
            "just words",
            1,
            ':1: the file must be keys with their values, such as name: ..., got "just words"',
        ),
        ("null", 1, ":1: the file is empty; begin with a line such as max_turns: 50"),
        (
            "name: x\ntools: [",
            2,
            (
                ":2: not the YAML of an agent: expected the node content, but found '<stream "
                "end>'; check this line and the one before; a text with special characters needs "
                "quotes"
            ),
        ),
        (
            "name: x\ncontext:\n\tauto_summarize: true",
            3,
            (
                ":3: not the YAML of an agent: found a tab that cannot start any token; indent "
                "with spaces, not with tabs"
            ),
        ),
        (
            "name: x\ndescription: 'open",
            2,
            (
                ":2: not the YAML of an agent: found unexpected end of stream; check this line "
                "and the one before; a text with special characters needs quotes"
            ),
        ),
        (
            "name: x\n---\nname: y",
            2,
            (
                ":2: more than one document; move what follows the line --- to another file, or "
                "leave it out"
            ),
        ),
        (
            "a: b: c",
            1,
            (
                ":1: not the YAML of an agent: mapping values are not allowed here; check this "
                "line and the one before; a text with special characters needs quotes"
            ),
        ),
        (
            "name: x\nmodel: *gone",
            2,
            (
                ":2: not the YAML of an agent: found undefined alias 'gone'; check this line and "
                "the one before; a text with special characters needs quotes"
            ),
        ),
        (
            "name: x\nmodel: \x00",
            2,
            (
                ":2: not the YAML of an agent: the character 0x0000; check this line and the one "
                "before; a text with special characters needs quotes"
            ),
        ),
        (
            'name: x\nmodel: "\\UFFFFFFFF"',
            2,
            (
                ":2: not the YAML of an agent: an escape that is not a character; check this line "
                "and the one before; a text with special characters needs quotes"
            ),
        ),
        (
            'name: x\nmodel: "\\U00110000"',
            2,
            (
                ":2: not the YAML of an agent: an escape that is not a character; check this line "
                "and the one before; a text with special characters needs quotes"
            ),
        ),
        (
            "name: !!str x",
            1,
            (
                ":1: not the YAML of an agent: the tag tag:yaml.org,2002:str; write the value "
                "without a tag"
            ),
        ),
        ("name: ! x", 1, ":1: not the YAML of an agent: the tag !; write the value without a tag"),
        (
            "name: x\na: " + "[" * 200,
            2,
            ":2: not the YAML of an agent: nested over 40 deep; write it flatter",
        ),
        (
            "name: x\na: &a\n- *a",
            2,
            ":2: too large once its aliases are filled in; write the values out in their place",
        ),
        (
            BOMB,
            4,
            ":4: too large once its aliases are filled in; write the values out in their place",
        ),
    ],
)
def test_unreadable_document_is_one_problem(text: str, line: int, said: str) -> None:
    """With the line: neither depth nor aliases nor tags do any harm."""
    [problem] = _problems(text)

    assert said in str(problem)
    assert problem.line == line


def test_missing_functions_join_other_mistakes(tmp_path: Path) -> None:
    """Without running the file: what only running it can tell is left to its import."""
    (tmp_path / "tools.py").write_text("import json as js\nread = 1\nraise SystemExit\n")
    (tmp_path / "any.py").write_text("from tools import *\n")
    text = (
        "max_turn: 3\n"
        "tools:\n"
        "  - tools.py:raed\n"
        "  - tools.py:js.dumps\n"
        "  - any.py:whatever\n"
        "  - tools:write\n"
        "  - no_such_package.tools:read\n"
        "  - json:dumps\n"
    )

    with pytest.raises(config.ConfigProblems) as caught:
        config.loads(text, folder=tmp_path)

    assert [problem.key for problem in caught.value.problems] == [
        "max_turn",
        "tools[0]",
        "tools[3]",
        "tools[4]",
    ]
    assert "did you mean 'read'?" in str(caught.value)


def test_mistakes_are_reported_in_line_order() -> None:
    """Of every section, and several of one; numbers that contradict each other are among them."""
    problems = _problems(
        "max_turn: 3\n"
        "context_window: 8000\n"
        "context:\n"
        "  max_messages_before_summary: 5\n"
        "  min_recent_messages: 6\n"
        "  response_reserve: 9000\n"
        "  auto_summarize: perhaps\n"
        "strategies:\n"
        "  - clear_tool_outputs: {max_tokens: 0, low_watermark: 3, keep: 2}\n"
        "  - importance: {keep_recent: -1, tool_use_score: 7}\n"
        "tools: [recall, 3, nowhere.py:read]\n"
        "tools: []\n"
    )

    assert [(problem.line, problem.key) for problem in problems] == [
        (1, "max_turn"),
        (4, "context.max_messages_before_summary"),
        (6, "context.response_reserve"),
        (7, "context.auto_summarize"),
        (9, "strategies[0].clear_tool_outputs.keep"),
        (9, "strategies[0].clear_tool_outputs.max_tokens"),
        (9, "strategies[0].clear_tool_outputs.low_watermark"),
        (10, "strategies[1].importance.keep_recent"),
        (10, "strategies[1].importance.tool_use_score"),
        (11, "tools[1]"),
        (11, "tools[2]"),
        (12, "tools"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "context: {max_messages_before_summary: 6, min_recent_messages: 6}",
            (
                ":1: context.max_messages_before_summary must be more than min_recent_messages "
                "(6), which always stay, got 6"
            ),
        ),
        (
            "context_window: 4096\ncontext: {response_reserve: 4096}",
            ":2: context.response_reserve must be less than the context window (4096), got 4096",
        ),
        (
            "model: openai_chat:gpt-4o\ncontext: {response_reserve: 200000}",
            (
                ":2: context.response_reserve must be less than the context window (128000), got "
                "200000"
            ),
        ),
    ],
)
def test_contradicting_numbers_are_refused(text: str, said: str) -> None:
    """Whether the window is written or that of a model that is known."""
    [problem] = _problems(text)

    assert said in str(problem)


def test_problems_name_the_first_one() -> None:
    """Code that knows only ConfigError has something to say, and it survives pickling."""
    with pytest.raises(ConfigError) as caught:
        config.loads("max_turns: 0\nmodle: x", "quick.yaml")
    error = caught.value

    assert isinstance(error, AgenticError | ValueError)
    assert (error.name, error.given) == ("max_turns", "0")
    assert len(str(error).split("\n")) == 2
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301  our own
        assert type(again) is ConfigProblems
        assert str(again) == str(error)
        assert again.args == error.args


def test_secret_from_environment_is_never_shown() -> None:
    """Neither in a problem nor in the repr of a configuration."""
    secret = {"DSN": "postgresql://user:secret@localhost/x"}
    agent = config.loads("store: {kind: postgres, dsn: '${DSN}'}", environ=secret)

    assert agent.store.dsn == secret["DSN"]
    assert "secret" not in repr(agent)
    with pytest.raises(ConfigProblems) as caught:
        config.loads("store: {dsn: '${DSN}', kind: jsonl}\nmodel: ${DSN}", environ=secret)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"name: \xff\xfe", "agent.yaml:1: not UTF-8; save it as UTF-8"),
        (
            b"name: x\n# " + b"x" * 300_000,
            "agent.yaml: larger than the 256 KB that an agent's file may have",
        ),
    ],
)
def test_unreadable_file_is_a_problem(tmp_path: Path, content: bytes, said: str) -> None:
    """In the same words."""
    path = tmp_path / "agent.yaml"
    path.write_bytes(content)

    with pytest.raises(ConfigProblems) as caught:
        config.load(path)

    assert said in str(caught.value)


def test_non_file_is_told_as_well(tmp_path: Path) -> None:
    """Missing, a folder, a device that never ends, or a file that cannot be read."""
    for path, said in [
        (Path("/proc/self/mem"), ": cannot be read: "),
        (tmp_path / "absent.yaml", "absent.yaml: no such file"),
        (tmp_path, ": not a file"),
        (Path("/dev/zero"), ": not a file"),
        (Path("a\x00b"), ": no such file"),
    ]:
        with pytest.raises(ConfigProblems) as caught:
            config.load(path)
        assert said in str(caught.value)


def test_reading_a_file_runs_nothing(tmp_path: Path) -> None:
    """What it names is imported when it is asked for, and no tag makes an object."""
    ran = tmp_path / "ran"
    (tmp_path / "tools.py").write_text(f"open({str(ran)!r}, 'w')\ndef read() -> str: ...\n")
    path = tmp_path / "agent.yaml"
    path.write_text("model: tools.py:read\ntools: [tools.py:read]\n")

    config.load(path)
    path.write_text(f"name: !!python/object/apply:os.system ['touch {ran}']")
    with pytest.raises(ConfigProblems, match="the tag"):
        config.load(path)

    assert not ran.exists()


def test_text_at_the_limit_is_read(tmp_path: Path) -> None:
    """Full of brackets and keys, it is counted; one long prompt is a single value."""
    path = tmp_path / "agent.yaml"
    path.write_text("model_options:\n" + "  key: [1, 2, {a: b}]\n" * 11_900)
    with pytest.raises(ConfigProblems, match="over 10,000 values"):
        config.load(path)

    path.write_text("system_prompt: |\n" + "  Be brief, and look before you leap.\n" * 6_500)

    assert len(str(config.load(path).system_prompt)) > 200_000


def test_no_problem_ends_in_two_stops() -> None:
    """Also where the remedy is a sentence of somebody else."""
    problem = Problem("quick.yaml", 1, "model", "3", "a model", "Call somebody.")

    assert str(problem).endswith("got 3; Call somebody")
