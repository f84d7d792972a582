"""The official suite: what its sets ask for, and how a server did."""

import json
import os
import re
import subprocess
from pathlib import Path

MODULES = Path(os.environ["MCPPROXY_CONFORMANCE_DIR"]) / "node_modules"
PACKAGE = MODULES / "@modelcontextprotocol" / "conformance"
COMMAND = [str(MODULES / ".bin" / "node"), str(PACKAGE / "dist" / "index.js")]

SETS = ("2025-06-18", "2025-11-25", "2026-07-28")

# The suite has it for later revisions, but who listens on a loopback address needs it always.
ALWAYS = "dns-rebinding-protection"

# From good to bad. What the suite leaves open is as good as a success.
RANKS = {"SUCCESS": 0, "INFO": 0, "SKIPPED": 0, "WARNING": 1, "FAILURE": 2}
ABSENT = 3

# scenario -> check -> worst rank of its occurrences
Results = dict[str, dict[str, int]]


def required(name: str) -> list[str]:
    """The scenarios that every server has to pass in a set."""
    file = PACKAGE / "requirements" / f"{name}.yaml"
    if file.exists():
        # A list under a key, each entry on a line of its own.
        server = re.search(r"^server:\n((?:  - .+\n)+)", file.read_text(), re.MULTILINE)
        return re.findall(r"^  - (.+)$", server.group(1), re.MULTILINE)
    # The suite names none for revisions before its first set: all that apply.
    listed = run("list", "--server", "--spec-version", name)
    return [*re.findall(r"^  - (\S+)", listed, re.MULTILINE), ALWAYS]


def examine(name: str, url: str, folder: Path) -> Results:
    """Runs a set against a server. What the suite had to say is in the folder afterwards."""
    target = ["server", "--url", url, "--output-dir", str(folder)]
    if (PACKAGE / "requirements" / f"{name}.yaml").exists():
        run(*target, "--requirements", name)
    else:
        run(*target, "--spec-version", name, "--suite", "all")
        run(*target, "--spec-version", name, "--scenario", ALWAYS, "--force")
    results: Results = {}
    for file in sorted(folder.glob("server-*/checks.json")):
        scenario = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT.*", file.parent.name).group(1)
        checks = results.setdefault(scenario, {})
        for check in json.loads(file.read_text()):
            checks[check["id"]] = max(checks.get(check["id"], 0), RANKS[check["status"]])
    return results


def complaints(folder: Path, scenario: str) -> list[str]:
    """What the suite has against a scenario's checks, in its own words, shortened."""
    found = []
    for file in sorted(folder.glob(f"server-{scenario}-2*/checks.json")):
        for check in json.loads(file.read_text()):
            if RANKS[check["status"]]:
                text = " ".join((check.get("errorMessage") or check["description"]).split())
                found.append(f"{check['status']} {check['id']}: {text[:300]}")
    return found


def run(*arguments: str) -> str:
    """Its exit code is passed over: the checks tell more, and those that a run did not get to are missed."""
    try:
        done = subprocess.run(
            [*COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout
