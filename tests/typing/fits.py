"""Lines that only mypy runs: each implementation fits its protocol without inheriting from it."""

from typing import TYPE_CHECKING

from agentic import history, limits, loop, protocols, session, testing, tokens, tools
from agentic.bridges.mcp import McpServer, McpTools
from agentic.compat import open_agent_sdk
from agentic.context import budget, compactors, strategies
from agentic.context.budget._compaction import AdaptableBudget, BackoffBudget
from agentic.context.strategies._strategy import SyncSummarizer
from agentic.history import postgres, sqlite
from agentic.history._abilities import Revisioned
from agentic.loop._runner import ViewMaker
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)
from agentic.tokens import QuicktokCounter, TiktokenCounter
from agentic.tools._executors import ToolPolicy

if TYPE_CHECKING:
    import acme  # noqa: TC004  in examples/acme-adapter, which only mypy has on its way


def counters() -> list[tokens.Counter]:
    return [
        tokens.CharCounter(),
        tokens.EstimateCounter(),
        QuicktokCounter(),
        TiktokenCounter(),
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


def revisioned() -> list[Revisioned]:
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
    servers = McpTools(McpServer.stdio("files", "files-server"))
    return [registry, filtered, tools.CompositeExecutor(registry, filtered), servers]


def approved(registry: tools.Registry, approver: tools.Approver) -> loop.Executor:
    return tools.RequireApproval(registry, approver)


def policies() -> list[ToolPolicy]:
    return [tools.AllowlistPolicy(["read"])]


@tools.tool
def _now() -> str:
    """Return the time."""
    return "noon"


def function_tools() -> list[tools.Tool]:
    return [_now]


def recall_tools(archive: history.Archive) -> list[tools.Tool]:
    return [session.RecallTool(archive)]


def view_makers() -> list[ViewMaker]:
    return [open_agent_sdk.ContextConfig()]


def made_compactors() -> list[budget.Compactor]:
    chain = compactors.first_of(compactors.Digest())
    return [
        compactors.Digest(),
        chain,
        compactors.Model(),
        compactors.Continuation(),
        compactors.ProviderCompactor(),
    ]


def budgets() -> list[budget.Budget]:
    return [budget.Manager()]


def adaptable_budgets() -> list[AdaptableBudget]:
    return [budget.Manager()]


def budgets_with_backoff() -> list[BackoffBudget]:
    return [budget.Manager()]


def made_strategies() -> list[strategies.ContextStrategy]:
    return [strategies.FitContextWindow(8_000, digest=compactors.Digest(max_tokens=960))]


def change_writers(
    claude: anthropic.Decider, gpt: openai_responses.Decider
) -> list[protocols.ChangeWriter]:
    return [claude, gpt]


def made_writers() -> list[SyncSummarizer]:
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


def adapters() -> list[testing.Wire]:
    return [
        acme.ADAPTER,
        anthropic.ADAPTER,
        bedrock.ADAPTER,
        cohere.ADAPTER,
        gemini.ADAPTER,
        ollama.ADAPTER,
        openai_chat.ADAPTER,
        openai_responses.ADAPTER,
    ]
