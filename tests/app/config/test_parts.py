import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest

from agentic import history, loop, usage
from agentic.app import config
from agentic.app.config._records import StoreSettings
from agentic.context.compactors import Digest, ReadAgain
from agentic.context.compactors._restoration import WithRestoration
from agentic.context.strategies import ClearToolOutputs, KeepLast
from agentic.errors import ConfigError
from agentic.messages import Message, ToolCall
from agentic.testing import ScriptedDecider
from agentic.usage._usage import ReportedCall, collect

TALK = [Message("user", "Is it green?"), Message("assistant", "All tests pass now.")]


def _agent(project: Path, text: str) -> config.AgentConfig:
    path = project / "agent.yaml"
    path.write_text(text)
    return config.load(path)


def _problem(project: Path, text: str) -> str:
    with pytest.raises(config.ConfigProblems) as caught:
        _agent(project, text).runner(_agent(project, "store: {kind: memory}").session())
    return str(caught.value).removeprefix(f"{project}/")


@pytest.mark.parametrize("name", ["Offline", "make", "ready"])
def test_custom_decider_has_three_forms(project: Path, name: str) -> None:
    """Made with `model_options` where it has to be made."""
    options = "" if name == "ready" else "model_options: {window: 64000}"
    agent = _agent(project, f"model: my_agent.py:{name}\n{options}")

    assert agent.limits().context_window == 64_000
    assert asyncio.run(_reply(agent)) == "ok"
    assert agent.decider() is agent.decider()


async def _reply(agent: config.AgentConfig) -> str:
    async with agent.session() as session:
        return (await agent.runner(session).run("hello")).reply


def test_decider_is_found_beside_the_file(project: Path) -> None:
    """`package.module:Name` finds it as Python would, and the folder of the file last."""
    (project / "parts_of_mine").mkdir()
    (project / "parts_of_mine" / "deciders.py").write_text("from my_agent import Bare, Offline\n")
    agent = _agent(project, "model: parts_of_mine.deciders:Offline\nstore: {kind: memory}")

    assert asyncio.run(_reply(agent)) == "ok"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "agent.yaml:1: model is missing; add model: anthropic:claude-sonnet-4-5, or pass"),
        ("\nmodel: my_agent.py:Ofline", "agent.yaml:2: "),
        ("\nmodel: my_agent.py:Ofline", "has no 'Ofline'; did you mean 'Offline'?"),
        (
            "model: my_agent.py:nothing",
            "cannot create a decider with my_agent.py:nothing: TypeError",
        ),
        ("model: my_agent.py:broken", "my_agent.py:broken: RuntimeError: no weights here"),
        ("model: my_agent.py:Offline\nmodel_options: {windows: 3}", "unexpected keyword argument"),
        ("model: my_agent.py:ready\nmodel_options: {window: 3}", "got {"),
        (
            "model: tools.py:read_file",
            "tools.py:read_file: TypeError: read_file() missing",
        ),
        ("model: tools.py:Now", "an object with async decide(request) -> Decision"),
        ("model: no_such_module:Decider", "ModuleNotFoundError: No module named 'no_such_module"),
        ("model: anthropic:claude-sonnet-4-5", "set the environment variable ANTHROPIC_API_KEY"),
    ],
)
def test_failing_model_names_its_line(
    project: Path, text: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it is asked for, and no earlier."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    assert said in _problem(project, text)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("syntax error", "SyntaxError: invalid syntax"),
        ("import sys\nsys.exit('not today')", "SystemExit: not today"),
        ("raise RuntimeError('at import')", "RuntimeError: at import"),
    ],
)
def test_failed_import_is_tried_again(project: Path, source: str, said: str) -> None:
    """A failed import leaves nothing behind: the mended file is read anew."""
    (project / "bad.py").write_text(source)
    agent = _agent(project, "name: x\nmodel: bad.py:Offline")
    with pytest.raises(config.ConfigProblems) as caught:
        agent.decider()

    (project / "bad.py").write_text((project / "my_agent.py").read_text())

    assert said in str(caught.value)
    assert "agent.yaml:2: " in str(caught.value)
    assert agent.limits().context_window == 200_000


def test_tools_are_functions_tools_or_lists(project: Path) -> None:
    """Each becomes a tool; `recall` is the session's own."""
    agent = _agent(
        project, "store: {kind: memory}\ntools: [recall, tools.py:BOTH, tools.py:Now, json:loads]"
    )
    (project / "a.txt").write_text("in the file")

    async def call() -> tuple[list[str], str, str]:
        async with agent.session() as session:
            registry = agent.registry(session)
            assert registry is not None
            names = [tool.name for tool in await registry.list_tools()]
            path = str(project / "a.txt").replace("\\", "/")
            read = await registry.execute(ToolCall("c1", "read_file", f'{{"path": "{path}"}}'))
            loud = await registry.execute(ToolCall("c2", "shout", '{"text": "hey"}'))
            return names, read.output, loud.output

    with pytest.raises(config.ConfigProblems, match=r"tools\[3\] must be"):
        asyncio.run(call())
    agent = attrs.evolve(agent, tools=agent.tools[:3])
    assert asyncio.run(call()) == (
        ["recall", "read_file", "shout", "now"],
        "in the file",
        "HEY",
    )


def test_unusable_tools_are_reported_together(project: Path) -> None:
    """Each with its own line."""
    agent = _agent(
        project,
        "model: my_agent.py:Offline\ntools:\n- tools.py:read_file\n- tools.py:red_file\n"
        "- tools.py:untyped\n- tools.py:read_file\n- tools.py:Needy\n- my_agent.py:nothing\n",
    )

    with pytest.raises(config.ConfigProblems) as caught:
        agent.runner(agent.session())

    said = str(caught.value).split("\n")
    assert [(problem.line, problem.key) for problem in caught.value.problems] == [
        (4, "tools[1]"),
        (5, "tools[2]"),
        (6, "tools[3]"),
        (7, "tools[4]"),
        (8, "tools[5]"),
    ]
    assert "did you mean 'read_file'?" in said[0]
    assert "a name that is not registered yet" in said[2]


def test_agent_without_tools_has_no_executor(project: Path) -> None:
    """A model that cannot call tools is sent none."""
    agent = _agent(project, "model: my_agent.py:Offline\nstore: {kind: memory}")

    assert agent.runner(agent.session()).executor is None


def test_runner_has_what_file_says(project: Path) -> None:
    """And any other decider in the place of the model."""
    agent = _agent(
        project,
        "system_prompt: Be brief.\nmax_turns: 3\ntool_timeout_seconds: 1.5\n"
        "turn_output_bytes: 9\ntruncation: {max_lines: 3}\nstore: {kind: memory}\n"
        "strategies: [keep_last, {clear_tool_outputs: {max_tokens: 99}}]",
    )
    decider = ScriptedDecider("hello")
    session = agent.session("abc123")
    runner = agent.runner(session, decider)

    assert runner.decider is decider
    assert runner.system_prompt == "Be brief."
    assert (runner.max_turns, runner.tool_timeout_seconds, runner.turn_output_bytes) == (3, 1.5, 9)
    assert runner.truncation is not None
    assert runner.truncation.max_lines == 3
    kept, cleared = session.strategies.strategies
    assert isinstance(kept, KeepLast)
    assert isinstance(cleared, ClearToolOutputs)
    assert cleared.counter == agent.counter()
    assert session.session_id == "abc123"


def test_file_may_leave_summaries_to_demand() -> None:
    """`auto_summarize: false` reaches the session."""
    for text, automatic in [("{}", True), ("context: {auto_summarize: false}", False)]:
        agent = attrs.evolve(config.loads(text), store=StoreSettings(kind="memory"))
        assert agent.session().auto_summarize is automatic


@pytest.mark.parametrize(
    "text",
    [
        "model: my_agent.py:Offline",
        "{}",
        "model: anthropic:claude-sonnet-4-5\ncontext: {summary_model: digest}",
        "model: anthropic:claude-sonnet-4-5\ncontext_window: 600",
    ],
)
def test_digest_replaces_an_absent_model(project: Path, text: str) -> None:
    """For a decider of one's own, for nobody, by order, and for a window without room for prose."""
    assert isinstance(_agent(project, text).compactor(), Digest)


def test_summary_takes_its_share_of_trigger(project: Path) -> None:
    """Where K is small, a digest of the usual size would nearly be K again."""
    text = "context: {max_tokens_before_summary: 4000, summary_model: digest}"

    digest = _agent(project, f"{text}\ncontext_window: 200000").compactor()

    assert isinstance(digest, Digest)
    assert digest.max_tokens == 960


def test_named_decider_writes_the_summary(project: Path) -> None:
    """Its answer stands over the digest; it is asked for nothing until then."""
    agent = _agent(project, "context: {summary_model: my_agent.py:Offline}")

    text = asyncio.run(_compact(agent, TALK))

    assert text.startswith("ok\n\n# Digest of the conversation so far")


def test_summary_models_usage_is_reported(project: Path) -> None:
    """What the decider that summarizes says it used."""
    with (project / "my_agent.py").open("a") as file:
        file.write(
            "\nfrom agentic.usage import Usage\n"
            "class Counted:\n    async def decide(self, request):\n"
            "        used = Usage(input=100, output=20)\n"
            "        return loop.Decision('ok', usage=used, request_model='m', provider='p')\n"
        )
    agent = _agent(project, "context: {summary_model: my_agent.py:Counted}")

    with collect() as collected:
        asyncio.run(_compact(agent, TALK))

    used = usage.Usage(input=100, output=20, total=120)
    assert collected.calls == [ReportedCall(used, "m", "p")]


async def _compact(agent: config.AgentConfig, messages: list[Message]) -> str:
    return await agent.compactor().compact(messages)


def test_digest_replaces_a_failing_model(
    project: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that is missing is missed in the log, not in the conversation."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    agent = _agent(project, "model: anthropic:claude-sonnet-4-5")

    text = asyncio.run(_compact(agent, TALK))

    assert text.startswith("# Digest")
    assert "a digest takes its place" in caplog.text
    assert "ANTHROPIC_API_KEY" in caplog.text


def test_cut_off_summary_is_none(project: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What a model did not finish is not kept as if it had."""
    (project / "short.py").write_text(
        "from agentic import loop\n"
        "class Short:\n"
        "    async def decide(self, request):\n"
        "        return loop.Decision('## Done\\nThe', stop_reason='max_tokens')\n"
    )
    agent = _agent(project, "context: {summary_model: short.py:Short}")

    assert asyncio.run(_compact(agent, TALK)).startswith("# Digest")
    assert "ended with max_tokens" in caplog.text


@pytest.mark.parametrize("window", [1_500, 4_000, 8_192, 200_000])
def test_summary_leaves_room_in_its_window(project: Path, window: int) -> None:
    """Its share is that of the session, whatever the conversation."""
    agent = _agent(
        project,
        f"context_window: {window}\ncontext: {{summary_model: my_agent.py:Offline}}",
    )
    long = [Message("user", f"Look at file_{n}.py and tell me of it.") for n in range(1_000)]

    text = asyncio.run(_compact(agent, long))

    assert agent.counter().count(text) <= 0.3 * agent.policy().available_tokens


@pytest.mark.parametrize("model", ["digest", "my_agent.py:Offline"])
def test_summary_refers_to_a_long_request(project: Path, model: str) -> None:
    """Where the agent has `recall`, the cuts in a digest name it, also below a model's prose."""
    agent = _agent(
        project,
        "model: my_agent.py:Offline\ntools: [recall]\nstore: {kind: memory}\n"
        f"context: {{max_messages_before_summary: 10, summary_model: {model}}}",
    )

    async def talk() -> tuple[str, str]:
        async with agent.session() as session:
            runner = agent.runner(session)
            for request in ("Mend the parser. " * 2_000, *["Go on."] * 5):
                await runner.run(request)
            shown = (await session.store.load())[0].content
            _, _, ref = shown.partition(" characters left out: recall(ref=")
            done = await runner.run(f'recall {{"ref": {ref.partition(")")[0]}}}')
            return shown, done.reply

    shown, reply = asyncio.run(talk())

    assert ("\nok\n\n# Digest" in shown) == (model != "digest")
    assert reply.startswith("it says Mend the parser. Mend the parser. ")


@pytest.mark.parametrize("door", ["prepare", "summarize", "compact_if_due"])
def test_session_without_runner_refers_to_request(project: Path, door: str) -> None:
    """The tools of an agent are imported when a size is asked for: that comes first."""
    text = "tools: [recall]\nstore: {kind: memory}\ncontext: {max_messages_before_summary: 10}"
    agent = _agent(project, text)

    async def talk() -> str:
        async with agent.session() as session:
            for request in ("Mend the parser. " * 2_000, *["Go on."] * 11):
                await session.append(Message("user", request))
            await getattr(session, door)()
            return (await session.store.load())[0].content

    assert 'characters left out: recall(ref="text-' in asyncio.run(talk())


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{}", ".agentic/sessions/agent/s1.jsonl"),
        ("name: other", ".agentic/sessions/other/s1.jsonl"),
        ("store: {path: kept/here}", "kept/here/s1.jsonl"),
        ("store: {kind: sqlite}", ".agentic/sessions/agent.db"),
        ("store: {kind: sqlite, path: all.db}", "all.db"),
    ],
)
def test_sessions_are_kept_beside_the_file(project: Path, text: str, place: str) -> None:
    """Wherever the process runs; a file of sessions is one file, a folder has one each."""
    agent = _agent(project, text)

    async def write() -> list[str]:
        async with agent.session("s1") as session:
            await session.append(Message("user", "hello"))
        return [info.id for info in await agent.sessions().list()]

    assert asyncio.run(write()) == ["s1"]
    assert (project / place).is_file()


def test_home_and_absolute_path_are_kept(project: Path, tmp_path: Path) -> None:
    """Only a relative path counts from the file."""
    agent = _agent(project, f"store: {{path: {tmp_path}/elsewhere}}")
    store = agent.session("s1").store

    assert isinstance(store, history.JsonlStore)
    assert store.path.parent == tmp_path / "elsewhere"


def test_sessions_in_memory_cannot_be_listed(project: Path) -> None:
    """There is no place that has them; each is its own."""
    agent = _agent(project, "\nstore: {kind: memory}")

    assert isinstance(agent.session().store, history.MemoryStore)
    with pytest.raises(config.ConfigProblems, match=r":2: store.kind must be .*, got memory"):
        agent.sessions()


def test_unknown_home_opens_no_sessions(project: Path) -> None:
    """The line of the path is named."""
    agent = _agent(project, "\nstore: {path: ~nobody-here/sessions}")

    with pytest.raises(config.ConfigProblems, match=r":2: ~nobody-here/sessions: there is no such"):
        agent.sessions()


def test_unnamed_session_has_a_new_id(project: Path) -> None:
    """And one that cannot be a name is refused."""
    agent = _agent(project, "{}")

    assert agent.session().session_id != agent.session().session_id
    with pytest.raises(ConfigError):
        agent.session("../up")


def test_guessed_window_is_told(project: Path, caplog: pytest.LogCaptureFixture) -> None:
    """8,192 tokens are few, and a line mends it."""
    _agent(project, "model: openai_chat:my-own\nstore: {kind: memory}").session()

    assert "the window of openai_chat:my-own is not known: 8,192 tokens" in caplog.text


def test_window_of_a_relative_is_told(project: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A newer model of a family starts with the window of the newest one that is known."""
    agent = _agent(project, "model: openai_responses:gpt-7-sol\nstore: {kind: memory}")
    agent.session()

    assert agent.policy().context_window == 922_000
    assert "922,000 tokens are assumed, as for gpt-6.2-sol" in caplog.text


def test_given_decider_replaces_the_model(project: Path) -> None:
    """As the command line does; what was made for the former one is not used again."""
    agent = _agent(project, "model: my_agent.py:Offline")
    assert agent.limits().context_window == 200_000

    other = attrs.evolve(agent, model="my_agent.py:ready")

    assert other.limits().context_window == 64_000
    assert agent.limits().context_window == 200_000


def test_provider_gets_the_written_window(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it finds a server that cuts a prompt without a word; and the options of requests."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    agent = _agent(
        project,
        "model: openai_chat:qwen3\ncontext_window: 16384\nmodel_options: {temperature: 0}",
    )
    decider = agent.decider()

    assert decider.limits().context_window == 16_384  # type: ignore[attr-defined]
    assert decider.options == {"temperature": 0}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "roles"),
    [("", ("user", None)), ("record_role: system\nstrict_roles: true", ("system", True))],
)
def test_roles_of_requests_are_written(
    project: Path, monkeypatch: pytest.MonkeyPatch, text: str, roles: tuple[str, bool | None]
) -> None:
    """For the server of the model, which may have any name there."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    decider = _agent(project, f"model: openai_chat:mine\n{text}").decider()

    assert (decider.record_role, decider.strict_roles) == roles  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        # Before Claude 4.5, the reply that is asked for counts against the window.
        ("claude-opus-4-1\ncontext: {response_reserve: 5000}", {"max_tokens": 5_000}),
        ("claude-opus-4-1", {}),
        ("claude-opus-4-5\ncontext: {response_reserve: 5000}", {}),
        (
            "claude-opus-4-1\ncontext: {response_reserve: 5000}\nmodel_options: {max_tokens: 900}",
            {"max_tokens": 900},
        ),
    ],
)
def test_reply_fits_a_reserve_that_is_written(
    project: Path, monkeypatch: pytest.MonkeyPatch, text: str, options: dict[str, int]
) -> None:
    """Else a context that the budget takes for fitting would be refused."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    agent = _agent(project, f"model: anthropic:{text}")

    assert agent.decider().options == options  # type: ignore[attr-defined]


def test_a_file_is_imported_once(project: Path) -> None:
    """Two references to one file share its state."""
    (project / "state.py").write_text(
        "from agentic import loop\nhits = []\n"
        "def hit() -> int:\n    '''Count.'''\n    hits.append(1)\n    return len(hits)\n"
        "def seen() -> int:\n    '''Tell.'''\n    return len(hits)\n"
    )
    agent = _agent(project, "tools: [state.py:hit, state.py:seen]\nstore: {kind: memory}")

    async def call() -> str:
        registry = agent.registry(agent.session())
        assert registry is not None
        await registry.execute(ToolCall("c1", "hit"))
        return (await registry.execute(ToolCall("c2", "seen"))).output

    assert asyncio.run(call()) == "1"


def test_threads_import_a_file_once(project: Path) -> None:
    """Neither finds it half run: a server may build an agent for each request in a thread."""
    (project / "slow.py").write_text(
        "import time\ntime.sleep(0.1)\ndef look() -> str:\n    'Look.'\n    return 'seen'\n"
    )
    agent = _agent(project, "tools: [slow.py:look]\nstore: {kind: memory}")

    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(agent.registry, [agent.session(), agent.session()]))

    assert all(made)


def test_server_is_reached_by_dsn() -> None:
    """Nothing is asked of it yet."""
    agent = config.loads("store: {kind: postgres, dsn: 'postgresql:///nowhere'}")

    assert isinstance(agent.sessions(), history.Sessions)
    assert isinstance(agent.session("s1").store, history.Archive)


def test_uninstalled_driver_is_named(
    run_python: Callable[[str], str], remedy: Callable[[str], str]
) -> None:
    """The room of the store says how to install it."""
    printed = run_python(
        "import sys; sys.modules['psycopg'] = None\n"
        "from agentic.app import config\n"
        "agent = config.loads('store: {kind: postgres, dsn: x}')\n"
        "try: agent.sessions()\n"
        "except ImportError as absent: print(absent)"
    )

    assert remedy("postgres") in printed


def test_part_for_loop_is_a_runner(project: Path) -> None:
    """Nothing of the configuration is needed to go on with it."""
    agent = _agent(project, "model: my_agent.py:Offline\nstore: {kind: memory}")

    assert isinstance(agent.runner(agent.session()), loop.Runner)


def test_missing_model_is_told_with_example(project: Path) -> None:
    """As a line that could be written, and one full stop."""
    assert _problem(project, "{}").endswith(
        "add model: anthropic:claude-sonnet-4-5, or pass a decider to runner()"
    )


def test_first_status_counts_prompt_and_tools(project: Path) -> None:
    """Without a runner, as `agentic context` asks for it; the same as with one."""
    text = "model: my_agent.py:Offline\ntools: [recall, tools.py:count]\n"
    sizes = []
    for prompt in ("", "system_prompt: Be brief.\n"):
        agent = config.loads(text + prompt + "store: {kind: memory}", folder=project)
        session = agent.session()
        before = asyncio.run(session.status()).tokens
        agent.runner(session)
        assert asyncio.run(session.status()).tokens == before
        sizes.append(before)

    counter = config.loads(text, folder=project).counter()
    assert sizes[0] > 50
    assert sizes[1] - sizes[0] == counter.count("Be brief.")


def test_broken_tools_do_not_prevent_status(
    project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """They are not counted, and the log says why."""
    text = "model: my_agent.py:Offline\ntools: [tools.py:absent]\nstore: {kind: memory}"
    session = config.loads(text, folder=project).session()

    assert asyncio.run(session.status()).tokens == 0
    assert "has no 'absent'" in caplog.text


def test_files_are_read_again_only_where_that_is_wanted(project: Path) -> None:
    """By the agent's own tools; a chat wants it."""
    text = "model: my_agent.py:ready\nstore: {kind: memory}\ntools: [my_agent.py:read]"
    mine = project / "my_agent.py"
    mine.write_text(
        f"{mine.read_text()}\nfrom agentic.tools import tool\n\n\n"
        "@tool\ndef read(path: str) -> str:\n"
        '    """Read a file."""\n    return path\n'
    )
    agent = _agent(project, text)
    compactor = agent.session(read_again=True).compactor

    assert isinstance(compactor, WithRestoration)
    assert isinstance(compactor.restore, ReadAgain)
    assert compactor.compactor == agent.session().compactor
    assert compactor.restore.execute is not None
    result = asyncio.run(compactor.restore.execute(ToolCall("c1", "read", '{"path": "a.py"}')))
    assert result.output == "a.py"
