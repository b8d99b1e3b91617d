"""Who may use the page of a server: a cookie that a login with the server's token sets.

The cookie is signed and not stored, so that it holds for every process with the same token, and
for none with another. It is HttpOnly and SameSite=Strict, and ends after half a day.
"""

import hashlib
import hmac
import os
import time
from http.cookies import CookieError, SimpleCookie

import attrs

COOKIE = "agentic_login"
_OPEN = {"/login", "/page/style.css"}
"""What everybody may read: the login itself, which a token has to follow."""
_SECONDS = 12 * 3_600
"""How long a login holds."""


@attrs.define(eq=False)
class Login:
    """Issues and checks the cookies of one server.

    Without a token, which only a server on loopback is, everybody is logged in: the cookie is
    needed for the CSRF token all the same, since a page of another site may send a form here.

    >>> login = Login("s3cret")
    >>> cookie = login.cookie()
    >>> login.holds(cookie), login.holds(cookie + "0"), Login("other").holds(cookie)
    (True, False, False)
    >>> login.is_csrf(cookie, login.csrf(cookie)), login.is_csrf(cookie, "")
    (True, False)
    """

    token: str = attrs.field(repr=False)
    _key: bytes = attrs.field(init=False, repr=False)

    @_key.default
    def _make_key(self) -> bytes:
        return self.token.encode() if self.token else os.urandom(32)

    def accepts(self, token: str) -> bool:
        """Return whether this is the server's token."""
        # In a time that does not depend on how much of it is right.
        return bool(self.token) and hmac.compare_digest(token.strip().encode(), self.token.encode())

    def lets(self, method: str, path: str, cookies: str) -> bool:
        """Return whether a request may pass, given its Cookie header.

        A cookie is enough to read, and for the forms of the page, which hold a CSRF token. The API
        changes nothing for a cookie.

        >>> Login("s3cret").lets("POST", "/login", ""), Login("s3cret").lets("GET", "/", "")
        (True, False)
        """
        if path in _OPEN:
            return True
        is_page = path.startswith("/page/") or path == "/logout"
        return (method in {"GET", "HEAD"} or is_page) and self.holds(find_cookie(cookies))

    def cookie(self) -> str:
        """Return the value of a new cookie."""
        text = f"{os.urandom(16).hex()}.{int(time.time()) + _SECONDS}"
        return f"{text}.{self._sign('login', text)}"

    def header(self, cookie: str, *, secure: bool) -> str:
        """Return the Set-Cookie header of a value; an empty one ends the login."""
        age = _SECONDS if cookie else 0
        rest = f"Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"
        return f"{COOKIE}={cookie}; {rest}"

    def holds(self, cookie: str) -> bool:
        """Return whether a cookie is one of this server's, and has not ended."""
        text, _, signature = cookie.rpartition(".")
        end = text.rpartition(".")[2]
        is_ours = hmac.compare_digest(signature.encode(), self._sign("login", text).encode())
        return is_ours and end.isdecimal() and time.time() < int(end)

    def csrf(self, cookie: str) -> str:
        """Return the token that the forms of a page hold for this cookie."""
        return self._sign("csrf", cookie)

    def is_csrf(self, cookie: str, token: str) -> bool:
        """Return whether a form came from a page that this cookie was sent to."""
        return hmac.compare_digest(token.encode(), self.csrf(cookie).encode())

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


def find_cookie(header: str) -> str:
    """Return the login in a Cookie header; "" if there is none.

    >>> find_cookie("a=1; agentic_login=x.2.y"), find_cookie("agentic_login")
    ('x.2.y', '')
    """
    try:
        cookies = SimpleCookie(header)
    except CookieError:
        return ""
    return cookies[COOKIE].value if COOKIE in cookies else ""
