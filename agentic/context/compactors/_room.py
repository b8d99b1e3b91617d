"""How too little room is shared out: among sections by weight, among texts to one level."""

__all__ = ["level", "share"]


def share(room: int, claims: list[tuple[int, int]]) -> list[int]:
    """Share the room out by weight, nobody getting more than wanted: `claims` are (want, weight).

    >>> share(100, [(10, 1), (200, 1), (200, 2)])
    [10, 30, 60]
    """
    shares = [0] * len(claims)
    waiting = {at for at, (want, _) in enumerate(claims) if want > 0}
    while waiting:
        total = sum(claims[at][1] for at in waiting)
        modest = [at for at in waiting if claims[at][0] * total <= room * claims[at][1]]
        if not modest:
            for at in waiting:
                shares[at] = max(room, 0) * claims[at][1] // total
            return shares
        for at in modest:
            shares[at] = claims[at][0]
            room -= claims[at][0]
        waiting.difference_update(modest)
    return shares


def level(room: int, sizes: list[int]) -> int:
    """Find the level to which the larger ones are cut, so that all find room; smallest size first.

    >>> level(100, [10, 50, 90])
    45
    """
    for at, size in enumerate(sizes):
        if size * (len(sizes) - at) > room:
            return room // (len(sizes) - at)
        room -= size
    return sizes[-1] if sizes else 0
