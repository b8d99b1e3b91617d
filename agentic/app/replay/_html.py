"""HTML and SVG elements, in which every text is escaped."""

import html
import re

# What a page may not contain: control characters, and halves of surrogate pairs.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
# The shapes of SVG have no content either; `<line/>` is valid inside an <svg> element.
_VOID = {"meta", "br", "hr", "input", "circle", "line", "path", "polyline", "polygon", "rect"}


class Markup(str):
    """A piece of a page that must not be escaped again."""

    __slots__ = ()


def text(content: object) -> Markup:
    """Escape a text.

    >>> text("</script> & more")
    '&lt;/script&gt; &amp; more'
    """
    return Markup(html.escape(_CONTROL.sub("\ufffd", str(content))))


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """Return an element. `class_` is class, `_` in a name becomes `-`, None omits an attribute.

    >>> tag("p", "1 < 2", class_="note", data_turn=3)
    '<p class="note" data-turn="3">1 &lt; 2</p>'
    """
    attributes_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID and not content:
        return Markup(f"<{name}{attributes_text}/>")
    inner = "".join(each if isinstance(each, Markup) else text(each) for each in content)
    return Markup(f"<{name}{attributes_text}>{inner}</{name}>")
