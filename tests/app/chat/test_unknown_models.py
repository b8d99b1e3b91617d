"""A model that its provider does not know: the error names those that exist.

The server refuses as each provider does, and lists its models in the provider's form. The bodies
were seen at these addresses (2026-11):

- anthropic: https://platform.claude.com/docs/en/api/errors and
  https://claude-error-handbook.vercel.app/errors/model-not-found.html
- cohere: https://github.com/cohere-ai/cohere-python/issues/590
- gemini: https://github.com/google/adk-python/issues/200
- ollama: https://github.com/TheBlewish/Automated-AI-Web-Researcher-Ollama/issues/42
- openai_chat: https://github.com/shobrook/wut/issues/14
- openai_responses: tests/cassettes/test_responses_create_api_error of
  opentelemetry-instrumentation-openai-v2 in
  https://github.com/open-telemetry/opentelemetry-python-contrib
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import attrs
import pytest
from aiohttp import web

pytestmark = pytest.mark.slow

MODELS = ("acme-large", "acme-small")
OPENAI_LIST = {
    "object": "list",
    "data": [{"id": each, "object": "model", "created": 0, "owned_by": "acme"} for each in MODELS],
}
OPENAI = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "{}"}


@attrs.frozen
class Provider:
    """How a provider refuses a model, and where its client is told to look for it."""

    name: str
    environment: dict[str, str]
    """The variables that its SDK reads; {} becomes the address of the server."""
    status: int
    body: Any
    models: Any
    """Its list of models."""

    async def handle(self, request: web.Request) -> web.Response:
        """Refuse every request but that for the list, the only one that is a GET."""
        if request.method == "GET":
            return web.json_response(self.models)
        return web.json_response(self.body, status=self.status)


def _openai(name: str, status: int, body: Any) -> Provider:
    return Provider(name, OPENAI, status, body, OPENAI_LIST)


def _error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, **more}}


PROVIDERS = (
    Provider(
        "anthropic",
        {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": "{}"},
        404,
        {
            "type": "error",
            "error": {"type": "not_found_error", "message": "model: acme-largest"},
            "request_id": "req_011CVfG3PpZSwfcTNx5NJCWZ",
        },
        {
            "data": [
                {
                    "type": "model",
                    "id": each,
                    "display_name": each,
                    "created_at": "2026-02-19T00:00:00Z",
                }
                for each in MODELS
            ],
            "has_more": False,
            "first_id": "acme-large",
            "last_id": "acme-small",
        },
    ),
    Provider(
        "cohere",
        {"CO_API_KEY": "none", "CO_API_URL": "{}"},
        404,
        {
            "id": "da62a855-b6e9-4c4e-b232-9ba335a9549a",
            "message": "model 'acme-largest' not found, make sure the correct model ID was used "
            "and that you have access to the model.",
        },
        {"models": [{"name": each} for each in MODELS]},
    ),
    Provider(
        "gemini",
        {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "{}"},
        404,
        {
            "error": {
                "code": 404,
                "message": "models/acme-largest is not found for API version v1beta, or is not "
                "supported for generateContent. Call ListModels to see the list of available "
                "models and their supported methods.",
                "status": "NOT_FOUND",
            }
        },
        {"models": [{"name": f"models/{each}"} for each in MODELS]},
    ),
    Provider(
        "ollama",
        {"OLLAMA_HOST": "{}"},
        404,
        {"error": "model 'acme-largest' not found"},
        {"models": [{"name": each} for each in MODELS]},
    ),
    _openai(
        "openai_chat",
        404,
        _error(
            "The model `acme-largest` does not exist or you do not have access to it.",
            code="model_not_found",
        ),
    ),
    _openai(
        "openai_responses",
        400,
        _error(
            "The requested model 'acme-largest' does not exist.",
            param="model",
            code="model_not_found",
        ),
    ),
)


@pytest.mark.parametrize(
    "provider",
    # The SDK of Gemini takes seconds to load.
    [pytest.param(each, marks=[pytest.mark.long] * (each.name == "gemini")) for each in PROVIDERS],
    ids=lambda provider: provider.name,
)
def test_unknown_model_lists_existing_ones(
    process: Callable[..., Any],
    serving_apart: Callable[..., AbstractContextManager[str]],
    provider: Provider,
) -> None:
    """With the nearest name, and without the headers of the answer."""
    model = f"{provider.name}:acme-largest"
    with serving_apart(provider.handle) as address:
        environment = {name: each.format(address) for name, each in provider.environment.items()}
        done = process("chat", "--model", model, input=b"Hello\n", env=environment)

    told = done.stderr.decode()
    assert done.returncode == 1
    assert "(did you mean 'acme-large'?); there are acme-large, acme-small" in told
    assert "headers" not in told
