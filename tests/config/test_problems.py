import copy
import pickle
import time
from pathlib import Path

import pytest

from agentic import config
from agentic.config import ConfigProblems
from agentic.errors import AgenticError, ConfigError

BOMB = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)


def _problems(text: str) -> list[config.Problem]:
    with pytest.raises(ConfigProblems) as caught:
        config.loads(text, "quick.yaml", environ={})
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modle: a:b", "quick.yaml:1: modle is no key here; allowed: name, description, model,"),
        ("modle: a:b", "To mend it: write model."),
        ("context:\n  max_messages: 3", ":2: context.max_messages is no key here;"),
        ("context:\n  max_messages: 3", "write max_messages_before_summary."),
        ("max_turns: many", ':1: max_turns is "many"; allowed: a whole number from 1.'),
        ("max_turns: true", ":1: max_turns is true; allowed: a whole number from 1."),
        ("max_turns: 2.0", ":1: max_turns is 2.0; allowed: a whole number"),
        ("max_turns: null", ":1: max_turns is null; allowed: a whole number"),
        ("name: 3", ":1: name is 3; allowed: 1 to 64 characters"),
        ("name: ../up", ':1: name is "../up"; allowed: 1 to 64 characters'),
        ("context: 3", ":1: context is 3; allowed: a section with the keys auto_summarize,"),
        (
            "context:\n  auto_summarize: yes",
            ':2: context.auto_summarize is "yes"; allowed: true or false.',
        ),
        (
            "context:\n  max_messages_before_summary: 1",
            "summary is 1; allowed: a whole number from 2, or null",
        ),
        ("context:\n  summary_model: cheap", ':2: context.summary_model is "cheap"; allowed: dig'),
        ("context:\n  summary_model: no.py:X", "allowed: a file that exists"),
        ("tool_timeout_seconds: 0", "is 0; allowed: seconds, more than 0, or null"),
        ("system_prompt: [a]", ':1: system_prompt is ["a"]; allowed: a text. To mend it: write it'),
        ("model: gpt-4.1", "put the provider before the name, as in openai_chat:gpt-4.1."),
        ("model: openai:gpt-4.1", "To mend it: write openai_chat:gpt-4.1."),
        ("model: dec.py", "To mend it: write the name in it after the file's, as in dec.py:Agent."),
        ("model: 'dec.py:'", "To mend it: write the name in it after the file's, as in dec.py:A"),
        ("context: {summary_model: dec.py}", "after the file's, as in dec.py:Agent."),
        ("model: 3", "To mend it: put the provider before the name, as in openai_chat:gpt-4.1."),
        ("name: ''", "or -. To mend it: write another name, such as helper, or leave it out."),
        ("name: ../../x", "To mend it: write another name, such as helper, or leave it out."),
        ("name: 3", "To mend it: write it in quotes."),
        ("system_prompt: null", "is null; allowed: a text. To mend it: leave it out."),
        ("description: 3", "is 3; allowed: a text. To mend it: write it in quotes."),
        ("store: {path: ''}", "To mend it: write one, or leave it out."),
        ("model: absent.py:Offline", ':1: model is "absent.py:Offline"; allowed: a file that exi'),
        ("model_options: 3", ":1: model_options is 3; allowed: keys and values"),
        ("tools: recall", ':1: tools is "recall"; allowed: a list. To mend it: begin each item'),
        ("tools:\n- recall\n- 3", ":3: tools[1] is 3; allowed: recall, FILE.py:NAME or PACKAGE"),
        ("tools: [read]", ':1: tools[0] is "read"; allowed: FILE.py:NAME or PACKAGE.MODULE:NAME'),
        ("tools: ['my tools:read']", "end the file's name with .py, or write a module's name"),
        ("strategies:\n- keep_lst", ':2: strategies[0] is "keep_lst"; allowed: one of clear_tool_'),
        ("strategies:\n- keep_lst", "To mend it: write keep_last."),
        ("strategies: [[]]", ":1: strategies[0] is []; allowed: one of"),
        ("strategies: [{keep_last: 3}]", "strategies[0].keep_last is 3; allowed: the keys keep_re"),
        ("strategies: [{keep_last: {}, trim_rounds: {}}]", "write each strategy as an item of its"),
        ("strategies: [trim_rounds]", "trim_rounds is without max_rounds; allowed: max_rounds, a"),
        ("strategies: [keep_last: {counter: x}]", "keep_last.counter is no key here; allowed: ke"),
        (
            "strategies: [{clear_tool_outputs: {max_tokens: 9, keep_tools: read}}]",
            'keep_tools is "read"; allowed: a list of texts',
        ),
        ("store: {kind: mysql}", 'store.kind is "mysql"; allowed: jsonl, sqlite, postgres or mem'),
        ("store: {kind: postgres}", ":1: store is without dsn; allowed: dsn, such as postgresql:"),
        ("store: {dsn: x}", "store.dsn is written; allowed: nothing, since a store of kind jsonl"),
        ("store: {kind: memory, path: x}", "a store of kind memory has no path"),
        ("store: {path: ''}", 'store.path is ""; allowed: a path, or null'),
        ("store: {path: '${NOWHERE}/x'}", 'is "${NOWHERE}/x"; allowed: variables that the envir'),
        ("store: {path: '${NOWHERE}/x'}", "To mend it: set NOWHERE, or write the value."),
        ("truncation: {mode: off}", 'truncation.mode is "off"; allowed: head, tail or middle'),
        ("truncation: {max_bytes: 50XB}", 'is "50XB"; allowed: bytes above 0, such as 50KB'),
        ("truncation: true", ":1: truncation is true; allowed: a section with the keys mode, max"),
        ("max_turns: 2\nmax_turns: 3", ":2: max_turns is given twice, first in line 1; allowed:"),
        ("? [a]\n: b", ":1: ? is no key; allowed: a word before the colon"),
    ],
)
def test_a_mistake_is_told_with_its_file_line_and_key(text: str, said: str) -> None:
    """And with what was given, what is allowed and what to do."""
    [problem] = _problems(text)

    assert str(problem).startswith("quick.yaml:")
    assert said in str(problem)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "the file is empty; allowed: the keys of an agent"),
        ("# only a comment\n\n", 1, "the file is empty"),
        ("- a", 1, 'the file is ["a"]; allowed: a section with the keys name,'),
        ("just words", 1, 'the file is "just words"; allowed: a section'),
        ("null", 1, "the file is empty"),
        ("name: x\ntools: [", 2, "no YAML (expected the node content"),
        ("name: x\ncontext:\n\tauto_summarize: true", 3, "indent with spaces, not with tabs"),
        ("name: x\ndescription: 'open", 2, "no YAML (found unexpected end of stream)"),
        ("name: x\n---\nname: y", 2, "the file is more than one document; allowed: one plain YAML"),
        ("name: x\n---\nname: y", 2, "To mend it: put what follows the line --- into a file of i"),
        ("a: b: c", 1, "no YAML (mapping values are not allowed here)"),
        ("name: x\nmodel: *gone", 2, "no YAML (found undefined alias 'gone')"),
        ("name: x\nmodel: \x00", 2, "no YAML (the character 0x0000)"),
        ('name: x\nmodel: "\\UFFFFFFFF"', 2, "no YAML (an escape that is no character)"),
        ('name: x\nmodel: "\\U00110000"', 2, "no YAML (an escape that is no character)"),
        ("name: !!str x", 1, "no YAML (the tag tag:yaml.org,2002:str)"),
        ("name: ! x", 1, "no YAML (the tag !)"),
        ("name: x\na: " + "[" * 200, 2, "no YAML (nested over 40 deep)"),
        ("name: x\na: &a\n- *a", 2, "too large once its aliases are filled in"),
        (BOMB, 4, "too large once its aliases are filled in; allowed: 10,000 values, 40 deep"),
    ],
)
def test_what_is_no_document_is_told_in_one_problem(text: str, line: int, said: str) -> None:
    """With the line, and in time: neither depth nor aliases nor tags do any harm."""
    started = time.perf_counter()

    [problem] = _problems(text)

    assert said in str(problem)
    assert problem.line == line
    assert time.perf_counter() - started < 2


def test_all_mistakes_are_told_at_once_in_the_order_of_the_lines() -> None:
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
        "  - clear_tool_outputs: {max_tokens: 0, low_water: 3, keep: 2}\n"
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
        (9, "strategies[0].clear_tool_outputs.low_water"),
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
            "is 6; allowed: more than min_recent_messages, which is 6",
        ),
        (
            "context_window: 4096\ncontext: {response_reserve: 4096}",
            "is 4096; allowed: less than the context window, which is 4096",
        ),
        (
            "model: openai_chat:gpt-4o\ncontext: {response_reserve: 200000}",
            "is 200000; allowed: less than the context window, which is 128000",
        ),
    ],
)
def test_numbers_that_are_written_and_contradict_each_other_are_refused(
    text: str, said: str
) -> None:
    """Whether the window is written or that of a model that is known."""
    [problem] = _problems(text)

    assert said in str(problem)


def test_the_problems_are_one_error_that_names_the_first() -> None:
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


def test_a_secret_from_the_environment_is_never_shown() -> None:
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
        (b"name: \xff\xfe", "agent.yaml:1: the file is no UTF-8"),
        (b"name: x\n# " + b"x" * 300_000, "agent.yaml: the file is too large; allowed: up to 256"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_as_well(
    tmp_path: Path, content: bytes, said: str
) -> None:
    """In the same words."""
    path = tmp_path / "agent.yaml"
    path.write_bytes(content)

    with pytest.raises(ConfigProblems) as caught:
        config.load(path)

    assert said in str(caught.value)


def test_what_is_no_file_is_told_as_well(tmp_path: Path) -> None:
    """Missing, a folder, a device that never ends, or a file that cannot be read."""
    for path, said in [
        (Path("/proc/self/mem"), "is unreadable ("),
        (tmp_path / "absent.yaml", "is missing; allowed: a file that is there"),
        (tmp_path, "is no file"),
        (Path("/dev/zero"), "is no file"),
        (Path("a\x00b"), "is missing"),
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


def test_a_text_at_the_limit_is_read_in_time(tmp_path: Path) -> None:
    """Full of brackets and keys, or one long prompt."""
    path = tmp_path / "agent.yaml"
    path.write_text("model_options:\n" + "  key: [1, 2, {a: b}]\n" * 11_900)
    started = time.perf_counter()

    with pytest.raises(ConfigProblems, match="over 10,000 values"):
        config.load(path)
    path.write_text("system_prompt: |\n" + "  Be brief, and look before you leap.\n" * 6_500)
    config.load(path)

    assert time.perf_counter() - started < 20


def test_no_problem_ends_in_two_full_stops() -> None:
    """Also where the remedy is a sentence of somebody else."""
    problem = config.Problem("quick.yaml", 1, "model", "missing", "a model", "Call somebody.")

    assert str(problem).endswith("To mend it: Call somebody.")
