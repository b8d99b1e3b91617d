"""When two spellings of a path name one file: by their last components."""

import posixpath
from collections.abc import Iterable

__all__ = ["ends_with", "matches", "normal"]


def normal(path: str, folder: str = "") -> str:
    """Return a path without dots that mean nothing, from the folder that it is relative to.

    >>> normal("./a.py", "/src"), normal("../b//c.py")
    ('/src/a.py', '../b/c.py')
    """
    return posixpath.normpath(posixpath.join(folder, path))


def ends_with(path: str, name: str) -> bool:
    """Return whether the last components of a path are all of a name.

    >>> ends_with("/repo/src/a.py", "src/a.py"), ends_with("/repo/src/aa.py", "a.py")
    (True, False)
    """
    name = name.removeprefix("./").lstrip("/") if not path.startswith(name) else name
    return path == name or path.endswith("/" + name)


def matches(name: str, paths: Iterable[str]) -> list[str]:
    """Return the paths that a name can mean: the one it equals, or all that it is the end of.

    A name may also be longer than the path as it is known: `/repo/src/a.py` for `src/a.py`.
    """
    paths = list(paths)
    if name in paths:
        return [name]
    return [path for path in paths if ends_with(path, name) or ends_with(name, path)]
