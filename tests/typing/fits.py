"""Lines that only mypy runs: each implementation fits its protocol without inheriting from it."""

from typing import TYPE_CHECKING

from agentic import history, limits, loop, session, testing, tokens, tools
from agentic.context import budget, compactors, config, strategies
from agentic.history import postgres, sqlite
from agentic.providers import anthropic, bedrock, cohere, gemini, openai_chat, openai_responses

if TYPE_CHECKING:
    import acme  # noqa: TC004  in examples/acme-adapter, which only mypy has on its way


def counters() -> list[tokens.Counter]:
    return [
        tokens.CharCounter(),
        tokens.EstimateCounter(),
        tokens.QuicktokCounter(),
        tokens.TiktokenCounter(),
        tokens.TokenizersCounter("tokenizer.json"),
        tokens.TokenCounter("chars"),
        tokens.for_model("gpt-5"),
    ]


def stores() -> list[history.Archive]:
    return [
        history.MemoryStore(),
        history.JsonlStore("session.jsonl"),
        sqlite.SqliteStore("sessions.db", "monday"),
        postgres.PostgresStore("postgresql:///agents", "monday"),
    ]


def revisioned() -> list[history.Revisioned]:
    return [
        history.MemoryStore(),
        history.JsonlStore("session.jsonl"),
        sqlite.SqliteStore("sessions.db", "monday"),
        postgres.PostgresStore("postgresql:///agents", "monday"),
    ]


def output_stores() -> list[history.OutputStore]:
    return [
        history.MemoryStore(),
        history.JsonlStore("session.jsonl"),
        sqlite.SqliteStore("sessions.db", "monday"),
        postgres.PostgresStore("postgresql:///agents", "monday"),
    ]


def places() -> list[history.Sessions]:
    return [
        history.JsonlSessions("sessions"),
        sqlite.SqliteSessions("sessions.db"),
        postgres.PostgresSessions("postgresql:///agents"),
    ]


def redactors() -> list[history.Redactor]:
    return [
        history.MemoryStore(),
        history.JsonlStore("session.jsonl"),
        sqlite.SqliteStore("sessions.db", "monday"),
        postgres.PostgresStore("postgresql:///agents", "monday"),
    ]


def rewriters(archive: history.Archive) -> history.Rewriter:
    return archive


def executors(registry: tools.Registry) -> list[loop.Executor]:
    filtered = tools.FilteredExecutor(registry, ["read"])
    return [registry, filtered, tools.CompositeExecutor(registry, filtered)]


def policies() -> list[tools.ToolPolicy]:
    return [tools.AllowlistPolicy(["read"])]


@tools.tool
def _now() -> str:
    """Return the time."""
    return "noon"


def function_tools() -> list[tools.Tool]:
    return [_now]


def recall_tools(archive: history.Archive) -> list[tools.Tool]:
    return [session.RecallTool(archive)]


def view_makers() -> list[loop.ViewMaker]:
    return [config.ContextConfig()]


def made_compactors() -> list[budget.Compactor]:
    return [compactors.Digest(), compactors.first_of(compactors.Digest())]


def made_strategies() -> list[strategies.ContextStrategy]:
    return [strategies.FitContextWindow(8_000, digest=compactors.Digest(max_tokens=960))]


def made_writers() -> list[strategies.SyncSummarizer]:
    return [compactors.Digest()]


class _Model:
    def limits(self) -> limits.ModelLimits:
        return limits.lookup("gpt-4.1")

    async def decide(self, request: loop.Input, /) -> loop.Decision:
        return loop.Decision(request.user_message)


def providers(model: _Model) -> limits.Provider:
    return model


def deciders(model: _Model) -> loop.Decider:
    return model


def scripted() -> list[loop.Decider]:
    return [testing.ScriptedDecider("done"), testing.StreamingScriptedDecider(["do", "ne"])]


def scripted_executors() -> list[loop.Executor]:
    return [testing.ScriptedExecutor({"read": "text"})]


def adapters() -> list[testing.Adapter]:
    return [acme, anthropic, bedrock, cohere, gemini, openai_chat, openai_responses]
