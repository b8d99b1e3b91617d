"""What the adapter is called, which is also the provider of its native payloads."""

__all__ = ["NAME"]

NAME = "openai_chat"
