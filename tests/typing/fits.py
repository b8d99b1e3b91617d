"""Lines that only mypy runs: each implementation fits its protocol without inheriting from it."""

from typing import TYPE_CHECKING

from agentic import history, limits, loop, session, testing, tokens, tools
from agentic.bridges.mcp import McpServer, McpTools
from agentic.context import budget, compactors, config, strategies
from agentic.history import postgres, sqlite
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)

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
    servers = McpTools(McpServer.stdio("files", "files-server"))
    return [registry, filtered, tools.CompositeExecutor(registry, filtered), servers]


def approved(registry: tools.Registry, approver: tools.Approver) -> loop.Executor:
    return tools.RequireApproval(registry, approver)


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


class _Anthropic:
    NAME = anthropic.NAME
    STOP_WORDS = anthropic.STOP_WORDS
    StreamedResponse = anthropic.StreamedResponse
    decode = staticmethod(anthropic.decode)
    encode = staticmethod(anthropic.encode)
    encode_tools = staticmethod(anthropic.encode_tools)
    encode_request = staticmethod(anthropic.encode_request)
    decode_request = staticmethod(anthropic.decode_request)
    decode_response = staticmethod(anthropic.decode_response)
    usage = staticmethod(anthropic.usage)
    stop_reason = staticmethod(anthropic.stop_reason)
    is_context_overflow = staticmethod(anthropic.is_context_overflow)
    validate = staticmethod(anthropic.validate)


class _Bedrock:
    NAME = bedrock.NAME
    STOP_WORDS = bedrock.STOP_WORDS
    StreamedResponse = bedrock.StreamedResponse
    decode = staticmethod(bedrock.decode)
    encode = staticmethod(bedrock.encode)
    encode_tools = staticmethod(bedrock.encode_tools)
    encode_request = staticmethod(bedrock.encode_request)
    decode_request = staticmethod(bedrock.decode_request)
    decode_response = staticmethod(bedrock.decode_response)
    usage = staticmethod(bedrock.usage)
    stop_reason = staticmethod(bedrock.stop_reason)
    is_context_overflow = staticmethod(bedrock.is_context_overflow)
    validate = staticmethod(bedrock.validate)


class _Cohere:
    NAME = cohere.NAME
    STOP_WORDS = cohere.STOP_WORDS
    StreamedResponse = cohere.StreamedResponse
    decode = staticmethod(cohere.decode)
    encode = staticmethod(cohere.encode)
    encode_tools = staticmethod(cohere.encode_tools)
    encode_request = staticmethod(cohere.encode_request)
    decode_request = staticmethod(cohere.decode_request)
    decode_response = staticmethod(cohere.decode_response)
    usage = staticmethod(cohere.usage)
    stop_reason = staticmethod(cohere.stop_reason)
    is_context_overflow = staticmethod(cohere.is_context_overflow)
    validate = staticmethod(cohere.validate)


class _Gemini:
    NAME = gemini.NAME
    STOP_WORDS = gemini.STOP_WORDS
    StreamedResponse = gemini.StreamedResponse
    decode = staticmethod(gemini.decode)
    encode = staticmethod(gemini.encode)
    encode_tools = staticmethod(gemini.encode_tools)
    encode_request = staticmethod(gemini.encode_request)
    decode_request = staticmethod(gemini.decode_request)
    decode_response = staticmethod(gemini.decode_response)
    usage = staticmethod(gemini.usage)
    stop_reason = staticmethod(gemini.stop_reason)
    is_context_overflow = staticmethod(gemini.is_context_overflow)
    validate = staticmethod(gemini.validate)


class _Ollama:
    NAME = ollama.NAME
    STOP_WORDS = ollama.STOP_WORDS
    StreamedResponse = ollama.StreamedResponse
    decode = staticmethod(ollama.decode)
    encode = staticmethod(ollama.encode)
    encode_tools = staticmethod(ollama.encode_tools)
    encode_request = staticmethod(ollama.encode_request)
    decode_request = staticmethod(ollama.decode_request)
    decode_response = staticmethod(ollama.decode_response)
    usage = staticmethod(ollama.usage)
    stop_reason = staticmethod(ollama.stop_reason)
    is_context_overflow = staticmethod(ollama.is_context_overflow)
    validate = staticmethod(ollama.validate)


class _OpenaiChat:
    NAME = openai_chat.NAME
    STOP_WORDS = openai_chat.STOP_WORDS
    StreamedResponse = openai_chat.StreamedResponse
    decode = staticmethod(openai_chat.decode)
    encode = staticmethod(openai_chat.encode)
    encode_tools = staticmethod(openai_chat.encode_tools)
    encode_request = staticmethod(openai_chat.encode_request)
    decode_request = staticmethod(openai_chat.decode_request)
    decode_response = staticmethod(openai_chat.decode_response)
    usage = staticmethod(openai_chat.usage)
    stop_reason = staticmethod(openai_chat.stop_reason)
    is_context_overflow = staticmethod(openai_chat.is_context_overflow)
    validate = staticmethod(openai_chat.validate)


class _OpenaiResponses:
    NAME = openai_responses.NAME
    STOP_WORDS = openai_responses.STOP_WORDS
    StreamedResponse = openai_responses.StreamedResponse
    decode = staticmethod(openai_responses.decode)
    encode = staticmethod(openai_responses.encode)
    encode_tools = staticmethod(openai_responses.encode_tools)
    encode_request = staticmethod(openai_responses.encode_request)
    decode_request = staticmethod(openai_responses.decode_request)
    decode_response = staticmethod(openai_responses.decode_response)
    usage = staticmethod(openai_responses.usage)
    stop_reason = staticmethod(openai_responses.stop_reason)
    is_context_overflow = staticmethod(openai_responses.is_context_overflow)
    validate = staticmethod(openai_responses.validate)


def adapters() -> list[testing.Adapter]:
    return [
        acme,
        _Anthropic(),
        _Bedrock(),
        _Cohere(),
        _Gemini(),
        _Ollama(),
        _OpenaiChat(),
        _OpenaiResponses(),
    ]
