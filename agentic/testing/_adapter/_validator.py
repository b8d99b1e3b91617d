"""What an adapter promises of its validator: it can tell a request that would be refused."""

from agentic.testing._adapter._promise import as_text, ask, broken, shows
from agentic.testing._adapter._protocol import Adapter
from agentic.testing._adapter._talk import ANSWER, ASK, CALL, RESULT, find_talk

__all__ = ["check_validator"]

_DAMAGE = {
    "whose result was taken out": RESULT.tool_results[0].output,
    "whose call was taken out": "a.py",
}


def check_validator(adapter: Adapter) -> None:
    """Damage a sound request: a validator that accepts everything proves nothing."""
    key = find_talk(adapter)
    for damage, text in _DAMAGE.items():
        where = f"a request {damage}"
        request = ask(where, adapter.encode_request, [ASK, CALL, RESULT, ANSWER, ASK])
        left = [item for item in request[key] if not shows(as_text(item), text)]
        if not ask(where, adapter.validate, {**request, key: left}):
            raise broken(where, "validate() refuses it, but accepts it")
