from hypothesis import given
from hypothesis import strategies as st

from agentic.loop import Decision
from agentic.providers import openai_chat

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "delta",
                    "content",
                    "tool_calls",
                    "function",
                    "arguments",
                    "id",
                    "index",
                    "role",
                    "usage",
                    "reasoning_details",
                    "audio",
                    "function_call",
                    "thinking",
                    "finish_reason",
                    "type",
                    "image_url",
                    "prompt_tokens",
                    "timings",
                    "name",
                    "text",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_junk_raises(junk: object) -> None:
    """Neither a reply's, nor a message's, nor a stream's."""
    assert isinstance(openai_chat.decode_response(junk), Decision)
    assert isinstance(openai_chat.decode_response({"choices": [{"message": junk}]}), Decision)
    openai_chat.encode_request(openai_chat.decode([junk]))
    openai_chat.validate({"messages": [junk]})
    stream = openai_chat.StreamedResponse()
    for event in (junk, {"choices": [junk]}, {"choices": [{"delta": junk}]}, "[DONE]"):
        if not (isinstance(event, dict) and event.get("error")):
            stream.feed(event)
    openai_chat.decode_response(stream.response())
