"""What a person starts: the command, the chat, agents from YAML, replay, the proxy, the service.

Start with `config` for agents in YAML, `replay` for recorded sessions, or `proxy` for an agent in
any language. Each room loads when it is first used, and most need an extra. Nothing else in the
package imports this room.
"""

from agentic._base import _lazy

__all__ = ["chat", "cli", "config", "proxy", "replay", "serve"]


__getattr__, __dir__ = _lazy.load_lazily(__name__, {name: f".{name}" for name in __all__})
