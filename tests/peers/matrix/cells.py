"""Which cells of the matrix there are, and how few of them have every pair of values."""

from dataclasses import dataclass
from itertools import combinations

from .client import MODERN
from .features import BY_RESULT, FEATURES, PING, WITHDRAWN
from .servers import SERVERS, Server

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN]
WAYS = ["http", "sse", "pipe"]


@dataclass(frozen=True)
class Visit:
    """One connection of a client to the daemon."""

    server: Server
    revision: str
    way: str

    def __str__(self):
        return f"{self.server.name}, client of {self.revision} over {self.way}"


Cell = tuple[Visit, str]


def exists(server: Server, revision: str, way: str, feature: str) -> bool:
    """What the protocol has at all."""
    if feature == BY_RESULT and server.eras == "legacy":
        return False
    if feature == WITHDRAWN and revision < "2025-06-18":
        # It cannot be asked.
        return False
    if revision == MODERN:
        # A result that asks cannot be taken back, and nothing is there to be pinged.
        return way != "sse" and feature not in (PING, WITHDRAWN)
    return True


def every_cell() -> list[Cell]:
    return [
        (Visit(server, revision, way), feature)
        for server in SERVERS
        for revision in REVISIONS
        for way in WAYS
        for feature in FEATURES
        if exists(server, revision, way, feature)
    ]


def pairs_of(cell: Cell) -> set:
    visit, feature = cell
    return set(combinations((visit.server, visit.revision, visit.way, feature), 2))


def place_of(cell: Cell) -> tuple:
    """Where it is in the table: its feature, the kind of server, and whether the client shakes no hands."""
    visit, feature = cell
    return feature, visit.server.column, visit.revision == MODERN


def by_pairs() -> list[Cell]:
    """Cells that have every pair of values there is, and every place of the table, the same at each run. A visit costs more than a feature
    of it, so those that are made anyway come first."""

    cells = every_cell()
    numbers: dict = {}
    worth = [{numbers.setdefault(it, len(numbers)) for it in pairs_of(cell) | {place_of(cell)}} for cell in cells]
    missing = set(range(len(numbers)))
    chosen: list[Cell] = []
    visits: set[Visit] = set()
    known = [False] * len(cells)
    while missing:
        best = max(range(len(cells)), key=lambda at: len(worth[at] & missing) * (2 if known[at] else 1))
        missing -= worth[best]
        chosen.append(cells[best])
        if cells[best][0] not in visits:
            visits.add(cells[best][0])
            known = [it[0] in visits for it in cells]
    return chosen
