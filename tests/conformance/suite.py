"""The official suite: what its sets ask for, and how somebody did."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
MODULES = Path(os.environ["MCPPROXY_CONFORMANCE_DIR"]) / "node_modules"
PACKAGE = MODULES / "@modelcontextprotocol" / "conformance"
COMMAND = [str(MODULES / ".bin" / "node"), str(PACKAGE / "dist" / "index.js")]

SETS = ("2025-06-18", "2025-11-25", "2026-07-28")

# The suite has it for later revisions, but who listens on a loopback address needs it always.
ALWAYS = "dns-rebinding-protection"

# Not ours, each with its reason: extensions of the protocol for programs that come without a person, which is who logs in to servers
# here (client credentials, workload identity), for companies that vouch for their people (enterprise-managed authorization), and for tokens that are
# bound to a key (DPoP). No set asks for them.
EXTENSIONS = (
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/wif-jwt-bearer",
    "auth/enterprise-managed-authorization",
    "auth/dpop",
    "auth/dpop-nonce",
)

# Logins of the revision before the sets, which no set has: they run with the oldest.
OLDEST_LOGINS = ("auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback")

# From good to bad. What the suite leaves open is as good as a success.
RANKS = {"SUCCESS": 0, "INFO": 0, "SKIPPED": 0, "WARNING": 1, "FAILURE": 2}
ABSENT = 3

# scenario -> check -> worst rank of its occurrences
Results = dict[str, dict[str, int]]


def required(name: str, role: str) -> list[str]:
    """The scenarios that every server, or every client, has to pass in a set."""
    file = requirements(name)
    if file.exists():
        # A list under a key, each entry on a line of its own.
        section = re.search(rf"^{role}:\n((?:  - .+\n)+)", file.read_text(), re.MULTILINE)
        found = re.findall(r"^  - (.+)$", section.group(1), re.MULTILINE)
    else:
        # The suite names none for revisions before its first set: all that apply.
        listed = run("list", f"--{role}", "--spec-version", name)
        found = re.findall(r"^  - (\S+)", listed, re.MULTILINE)
        found += [ALWAYS] if role == "server" else []
    found += OLDEST_LOGINS if role == "client" and name == SETS[0] else ()
    return [scenario for scenario in found if scenario not in EXTENSIONS]


def examine_server(name: str, url: str, folder: Path) -> Results:
    """Runs a set against a server. What the suite had to say is in the folder afterwards."""
    target = ["server", "--url", url, "--output-dir", str(folder)]
    if requirements(name).exists():
        run(*target, "--requirements", name)
    else:
        run(*target, "--spec-version", name, "--suite", "all")
        run(*target, "--spec-version", name, "--scenario", ALWAYS, "--force")
    return read(folder)


def examine_client(name: str, folder: Path) -> Results:
    """Runs a set against the daemon as a client, with the agent of `client.py` before it."""
    others = []
    if requirements(name).exists():
        unscored = re.findall(r"scenario: (\S+)\n +leg: client", requirements(name).read_text())
        others = [scenario for scenario in unscored if scenario not in EXTENSIONS]
    agent = shlex.join([sys.executable, str(HERE / "client.py")])
    for scenario in [*required(name, "client"), *others]:
        revision = "2025-03-26" if scenario in OLDEST_LOGINS else name
        run(
            *("client", "--command", agent, "--scenario", scenario, "--spec-version", revision),
            *("--output-dir", str(folder), "--timeout", "60000"),
        )
    return read(folder)


def read(folder: Path) -> Results:
    results: Results = {}
    for file in sorted(folder.rglob("checks.json")):
        checks = results.setdefault(scenario_of(file, folder), {})
        for check in json.loads(file.read_text()):
            checks[check["id"]] = max(checks.get(check["id"], 0), RANKS[check["status"]])
    return results


def complaints(folder: Path, scenario: str) -> list[str]:
    """What the suite has against a scenario's checks, in its own words, shortened."""
    found = []
    for file in sorted(folder.rglob("checks.json")):
        for check in json.loads(file.read_text()) if scenario_of(file, folder) == scenario else []:
            if RANKS[check["status"]]:
                text = " ".join((check.get("errorMessage") or check["description"]).split())
                found.append(f"{check['status']} {check['id']}: {text[:300]}")
    return found


def scenario_of(file: Path, folder: Path) -> str:
    """A run's folder bears its name and the time; those of servers a prefix, too. Names of some have a folder of their own."""
    name = file.parent.relative_to(folder).as_posix()
    return re.fullmatch(r"(?:server-)?(.+?)-\d{4}-\d\d-\d\dT.*", name).group(1)


def requirements(name: str) -> Path:
    return PACKAGE / "requirements" / f"{name}.yaml"


def run(*arguments: str) -> str:
    """Its exit code is passed over: the checks tell more, and those that a run did not get to are missed."""
    try:
        done = subprocess.run(
            [*COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout
