"""Whatever stands where the wire expects something else, nothing raises."""

from hypothesis import given
from hypothesis import strategies as st

from agentic.providers import bedrock
from agentic.providers.bedrock._decoding import for_boto3

LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"


_ODD = st.sampled_from([["x"], {"x": 1}, 3, None, True, "", "t1", [], {}, " "])
_INSIDE = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("toolUseId", "name", "input", "type", "content", "source"), _ODD)
)
_BLOCKS = st.dictionaries(
    st.sampled_from(["text", "toolUse", "toolResult", "image", "document", "reasoningContent"]),
    _INSIDE | _ODD,
    max_size=2,
)
_MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "system"]) | _ODD,
        "content": st.lists(_BLOCKS | _ODD, max_size=3) | _ODD,
    },
)


@given(messages=st.lists(_MESSAGES | _ODD, max_size=4), odd=_ODD)
def test_no_odd_field_raises(messages: list[object], odd: object) -> None:
    """Wherever a text is expected, anything may stand."""
    request = {"messages": messages, "system": odd, "toolConfig": odd, "modelId": odd}

    bedrock.validate(request)
    bedrock.encode(bedrock.decode(messages))
    for model in ("", LLAMA):
        sent = bedrock.encode_request(bedrock.decode_request(request), model=model)
        bedrock.validate(for_boto3({**sent, "modelId": model}))
