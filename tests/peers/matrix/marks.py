"""What a cell of the table says, and the table on the page of revisions."""

import json
from collections import defaultdict
from pathlib import Path

from .cells import exists, place_of
from .client import MODERN
from .features import FAILS, FEATURES, PING, UNKNOWN, WITHDRAWN
from .servers import COLUMNS, SERVERS
from .visits import Outcome

PAGE = Path(__file__).parents[3] / "docs" / "revisions.md"
BEGIN, END = "<!-- matrix: written by tests/peers/run -k matrix --record, best with --whole -->\n", "<!-- end of matrix -->\n"

SAME, TRANSLATED, ABSENT, NONE, WRONG, UNSEEN = "✓", "⇄", "–", "·", "✘", "?"
WORDS = {
    SAME: "the same as with a direct connection",
    TRANSLATED: "the same as a client of the server's era gets with a direct connection",
    ABSENT: "does not work with a direct connection either",
    NONE: "this revision does not have the feature",
    UNSEEN: "not compared yet",
    "a": "mcpproxy itself refuses tools that the server does not list (-32602)",
    "b": "mcpproxy answers the ping itself",
    "c": "if a call ends before its question is answered, mcpproxy withdraws the question and asks it again, until the server withdraws it",
}


def reason(outcome: Outcome) -> str | None:
    """Why a cell may differ; none where it may not."""
    ours, theirs = outcome.ours, outcome.theirs
    match outcome.feature:
        case feature if feature == UNKNOWN and ours == {"failed": -32602}:
            return "a"
        case feature if feature == PING and ours == {}:
            return "b"
        case feature if feature == WITHDRAWN and ours | {"asked": ours["asked"][:1]} == theirs | {"heard": True}:
            return "c"
    return None


def mark(outcome: Outcome) -> str | None:
    """None where something is wrong."""
    if outcome.ours != outcome.theirs:
        return reason(outcome)
    if "failed" in outcome.ours and outcome.feature not in (FAILS, UNKNOWN):
        return ABSENT
    return SAME if outcome.visit.server.spoken_for(outcome.visit.revision) == outcome.visit.revision else TRANSLATED


def marks(outcomes: list[Outcome]) -> dict[tuple, set[str]]:
    found = defaultdict(set)
    for outcome in outcomes:
        found[place_of((outcome.visit, outcome.feature))].add(mark(outcome) or WRONG)
    return found


def table(found: dict[tuple, set[str]]) -> str:
    """Each cell: clients with a handshake / without. Several marks where the servers or clients of a cell differ."""

    def side(feature: str, column: str, modern: bool) -> str:
        if not any(exists(it, MODERN if modern else "2025-11-25", "http", feature) for it in SERVERS if it.column == column):
            return NONE
        return " ".join(sorted(found[feature, column, modern], key=[*WORDS, WRONG].index))

    rows = [["", *COLUMNS], ["---"] * (len(COLUMNS) + 1)]
    rows += [[feature, *(f"{side(feature, it, False)} / {side(feature, it, True)}" for it in COLUMNS)] for feature in FEATURES]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    used = {it for row in rows[2:] for cell in row[1:] for it in cell.replace("/", " ").split()}
    legend = [f"* {sign} {words}" for sign, words in WORDS.items() if sign in used]
    return "\n".join([*lines, "", *legend, ""])


def on_page() -> str:
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip("\n") + "\n"


def write(text: str):
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def cells_on_page() -> dict[tuple, set[str]]:
    """The same from the page."""
    rows = [line.strip("| \n").split(" | ") for line in on_page().splitlines() if line.startswith("|")]
    found = {}
    for feature, *cells in rows[2:]:
        for column, cell in zip(COLUMNS, cells, strict=True):
            for modern, side in enumerate(cell.split("/")):
                found[feature.strip(), column, bool(modern)] = set(side.split())
    return found


def told(outcome: Outcome) -> str:
    def shown(record):
        return json.dumps(record, ensure_ascii=False)[:600]

    return f"{outcome.visit}: {outcome.feature}\n  through us {shown(outcome.ours)}\n  directly   {shown(outcome.theirs)}"
