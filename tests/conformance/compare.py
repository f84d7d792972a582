"""Runs sets of the official suite directly and through the daemon, and says what differs."""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import processes
import suite

# The daemon as a client of the suite's own servers.
CLIENT = "client"
# The suite's own server, which speaks both eras.
OWN = "own server"
WAYS = (*processes.TRANSPORTS, CLIENT, OWN)

# What the daemon has to pass, and what runs without a set being named. HTTP+SSE has no modern era, so there the daemon translates
# all questions of the newest set.
HELD = {"2025-06-18": WAYS, "2025-11-25": WAYS, "2026-07-28": ("stdio", "http", CLIENT, OWN)}

# Where behind the daemon a result may differ from the direct one, each with its reason.
ACCEPTED = json.loads((Path(__file__).parent / "differences.json").read_text())


@dataclass
class Outcome:
    """How one set went one way."""

    name: str
    way: str
    required: list[str]
    results: suite.Results
    folder: Path
    wrong: dict[str, list[str]] = field(default_factory=dict)

    def passed(self, scenario: str) -> bool:
        checks = self.results.get(scenario)
        return checks is not None and max(checks.values(), default=0) < suite.RANKS["FAILURE"]

    def others(self) -> list[str]:
        return [scenario for scenario in self.results if scenario not in self.required]

    def row(self) -> tuple[str, ...]:
        def figure(scenarios):
            return f"{sum(map(self.passed, scenarios))}/{len(scenarios)}"

        checks = [rank for checks in self.results.values() for rank in checks.values()]
        return (
            self.name,
            self.way,
            figure(self.required),
            figure(self.others()),
            *(str(checks.count(rank)) for rank in range(3)),
            str(sum(map(len, self.wrong.values()))),
        )


def judge(outcome: Outcome, direct: Outcome) -> None:
    """Fills in what is wrong: a required scenario that failed, or a check that is worse than the direct one."""
    accepted = {
        known["check"] for known in ACCEPTED if known["set"] == outcome.name and outcome.way in known["ways"]
    }
    met = set()
    for scenario in sorted({*outcome.required, *direct.results}):
        wrong = worse_checks(outcome, direct, scenario)
        if not wrong and scenario in outcome.required and not outcome.passed(scenario):
            wrong = ["not passed"]
        # A difference is accepted for a check, or for all of a scenario.
        excused = {check for check in wrong if {scenario, f"{scenario}:{check}"} & accepted}
        met |= {f"{scenario}:{check}" for check in excused} | ({scenario} if excused else set())
        if rest := [check for check in wrong if check not in excused]:
            outcome.wrong[scenario] = rest
    for stale in sorted(accepted - met):
        outcome.wrong[stale] = ["is in differences.json, and differs no more"]


def nothing_wrong(outcome: Outcome) -> Outcome:
    """What to compare with where there is no direct way."""
    results = {scenario: dict.fromkeys(checks, 0) for scenario, checks in outcome.results.items()}
    return Outcome(outcome.name, "", outcome.required, results, outcome.folder)


def worse_checks(outcome: Outcome, direct: Outcome, scenario: str) -> list[str]:
    here, there = (one.results.get(scenario, {}) for one in (outcome, direct))
    # Outside of what is required, the suite makes its checks where a server offers what it looks for.
    absent = suite.ABSENT if scenario in outcome.required else 0
    return [check for check in {**there, **here} if here.get(check, absent) > there.get(check, 0)]


def print_table(outcomes: list[Outcome]) -> None:
    rows = [("set", "way", "required", "others", "good", "warnings", "failed", "differ")]
    rows += [outcome.row() for outcome in outcomes]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def examine(name: str, folder: Path, ways: Sequence[str], era: str) -> list[Outcome]:
    """One set, directly and in each of the ways."""

    def outcome(way: str, url: str) -> Outcome:
        results = suite.examine_server(name, url, folder / way)
        return Outcome(name, way, suite.required(name, "server"), results, folder / way)

    outcomes = []
    transports = [way for way in ways if way in processes.TRANSPORTS]
    if transports:
        with processes.fixture("http", "both", folder) as url:
            direct = outcome("direct", url)
        judge(direct, direct)
        outcomes.append(direct)
        # A process speaks one era, and one that knows both is opened with a handshake unless its entry says otherwise: what only the newer
        # has needs that.
        pipe_era = "modern" if name == "2026-07-28" and era == "both" else era
        with processes.daemon(era, pipe_era, folder) as urls:
            for transport in transports:
                way = transport if era == "both" else f"{transport}, {era}"
                through = outcome(way, urls[transport])
                judge(through, direct)
                outcomes.append(through)
    if CLIENT in ways:
        results = suite.examine_client(name, folder / CLIENT)
        client = Outcome(name, CLIENT, suite.required(name, "client"), results, folder / CLIENT)
        judge(client, nothing_wrong(client))
        outcomes.append(client)
    return outcomes


def examine_own_server(names: Sequence[str], top: Path) -> list[Outcome]:
    """Sets against the suite's own server: each directly, then all at once through one daemon."""
    folder = top / OWN
    folder.mkdir()

    def outcome(name: str, way: str, url: str) -> Outcome:
        found = folder / f"{name} {way}"
        return Outcome(name, way, suite.required(name, "server"), suite.examine_server(name, url, found), found)

    with processes.own_server(processes.OWN_SERVER, folder) as url:
        direct = [outcome(name, f"{OWN}, direct", url) for name in names]
        entry = {"server": {"type": "http", "url": url}}
        with processes.daemon_before(entry, folder) as base, ThreadPoolExecutor() as together:
            behind = f"{base}/mcp/server/server"
            through = list(together.map(lambda name: outcome(name, OWN, behind), names))
    for one, other in zip(through, direct, strict=True):
        judge(other, other)
        # It lacks what some scenarios look for that no set requires: what it does not pass says nothing of the daemon.
        passed = {scenario: checks for scenario, checks in other.results.items() if other.passed(scenario)}
        judge(one, replace(other, results=passed))
    return [*direct, *through]


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/conformance/run", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(suite.SETS)}; default: what has to pass")
    parser.add_argument("--way", action="append", choices=WAYS, help="only this way")
    parser.add_argument("--era", default="both", choices=("legacy", "modern", "both"), help="of the fixture behind the daemon")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="where to leave logs and results")
    options = parser.parse_args()
    for name in options.sets:
        if name not in suite.SETS:
            parser.error(f"no such set: {name} (there are: {', '.join(suite.SETS)})")
    if options.keep and options.keep.exists() and any(options.keep.iterdir()):
        parser.error(f"{options.keep} is not empty")

    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as temporary:
        top = options.keep or Path(temporary)
        for name in options.sets or HELD:
            ways = options.way or (WAYS if options.sets else HELD[name])
            folder = top / name
            folder.mkdir(parents=True, exist_ok=True)
            outcomes += examine(name, folder, ways, options.era)
        if not options.way or OWN in options.way:
            if processes.OWN_SERVER.exists():
                outcomes += examine_own_server(options.sets or list(HELD), top)
            else:
                print(f"skipped: the suite's own server is not at {processes.OWN_SERVER} (MCPPROXY_OWN_SERVER)")
        for outcome in outcomes:
            for scenario, checks in outcome.wrong.items():
                print(f"\n{outcome.name} {outcome.way}: {scenario}: {', '.join(checks)}")
                for complaint in suite.complaints(outcome.folder, scenario):
                    print(f"    {complaint}")
    print()
    print_table(outcomes)
    total = sum(len(outcome.results) for outcome in outcomes)
    failed = sum(len(outcome.wrong) for outcome in outcomes)
    print(f"\n{max(total - failed, 0)} passed, {failed} failed")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
