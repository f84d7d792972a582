"""One daemon with all five servers for the whole suite, and direct connections to compare it with."""

import json
import urllib.request
from contextlib import AbstractContextManager, nullcontext

import pytest

import clients
import raw
import rig

# Servers whose tools depend on what their client can do: with nothing declared they offer the
# first list, with everything declared the second. What the daemon declares lies between.
NOTHING: dict = {}
EVERYTHING = {
    "roots": {"listChanged": True},
    "sampling": {"context": {}, "tools": {}},
    "elicitation": {"form": {}, "url": {}},
    "tasks": {
        "list": {},
        "cancel": {},
        "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}},
    },
}


def pytest_addoption(parser):
    parser.addoption("--record", action="store_true", help="write the transcripts and the table of the matrix anew")
    parser.addoption("--whole", action="store_true", help="all cells of the matrix, not only by pairs")


@pytest.fixture
def home(tmp_path):
    return clients.Home(tmp_path)


class Peers:
    """Some servers: reached through one daemon, or one by one without it."""

    def __init__(self, folder, entries: dict):
        self.folder = folder
        self.entries = entries
        self.daemon = rig.Daemon(folder, dict(entries))
        self.eras: dict[str, tuple[bool, bool]] = {}
        # Connections to servers on pipes, by server, era and capabilities: to start one takes longer than most tests.
        self.kept: dict[tuple[str, str, str], raw.Client] = {}

    def connection(self, server: str) -> raw.Client:
        """A connection to one server without the daemon, on which nothing was said yet."""
        match self.entries[server]:
            case {"type": "sse", "url": url}:
                return raw.SseClient(url)
            case {"url": url}:
                return raw.HttpClient(url)
            case entry:
                return raw.StdioClient(entry["command"], entry["args"], entry.get("env"))

    def era(self, server: str, client: str = raw.MODERN) -> str:
        """The revision in which the daemon has to speak to a server for a client of this one: on a pipe with a handshake unless its
        entry says otherwise; over HTTP without one where the server can, except for clients with one that it gives a session."""
        entry = self.entries[server]
        if entry.get("type") == "sse" or ("command" in entry and entry.get("protocol_era") != "modern"):
            return raw.REVISION
        if server not in self.eras:
            self.eras[server] = self.found_eras(server)
        modern, has_session = self.eras[server]
        return raw.MODERN if modern and not (has_session and client != raw.MODERN) else raw.REVISION

    def found_eras(self, server: str) -> tuple[bool, bool]:
        """Whether it needs no handshake, and whether a handshake gets a session at it."""
        with self.connection(server) as client:
            modern = client.introduce(NOTHING, raw.MODERN).error is None
        if not modern or "url" not in self.entries[server]:
            return modern, False
        with self.connection(server) as client:
            return modern, client.introduce(NOTHING, raw.REVISION).error is None and client.session is not None

    def direct(
        self, server: str, capabilities: dict = NOTHING, client: str = raw.MODERN
    ) -> AbstractContextManager[raw.Client]:
        """An opened connection to one server without the daemon, in the era that the daemon speaks to it for a client of this one.
        Where a process is started for it, the next test has the same."""
        era = self.era(server, client)
        if "command" not in self.entries[server]:
            return self.connection(server).open(capabilities, era)
        which = (server, era, json.dumps(capabilities))
        if which not in self.kept:
            self.kept[which] = self.connection(server).open(capabilities, era)
        return nullcontext(self.kept[which])

    def through(self, path: str, revision: str = raw.REVISION) -> raw.HttpClient:
        """A session with the daemon, or none where the revision knows none."""
        return raw.HttpClient(self.daemon.base + path).open(revision=revision)

    def offered(self) -> dict[str, str]:
        """`server:tool` → the name that `/mcp/all` offers it by, as the command line tells it."""
        listed = json.loads(self.daemon.cli("tools", "list", "-o", "json"))
        return {tool["name"]: tool["offered_name"] for tool in listed["tools"]}

    def end(self):
        """Ends the daemon, and what was kept."""
        for client in self.kept.values():
            client.close()
        if self.daemon.process:
            self.daemon.stop()


def ask_once(base, server):
    """Has the server ask a client that cannot answer. A server is shared until its first question, which is refused if several clients
    have used it, and each test is another client."""
    call = {"name": f"{server}__trigger-sampling-request", "arguments": {"prompt": "Anyone?"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    urllib.request.urlopen(urllib.request.Request(base + "/mcp/all", body, headers), timeout=60).read()


@pytest.fixture(scope="session")
def peers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("peers")
    web = rig.EverythingOverHttp(folder / "everything-http.log")
    peers = Peers(folder, rig.stdio_servers(folder) | {"web": {"type": "http", "url": web.url}})
    try:
        peers.daemon.start()
        peers.daemon.wait_until_ready()
        for server in ("everything", "web"):
            ask_once(peers.daemon.base, server)
        yield peers
    finally:
        peers.end()
        if peers.daemon.process:
            print(f"\n--- {peers.daemon.log}\n{peers.daemon.log.read_text()[-4000:]}")
        web.stop()


@pytest.fixture(scope="session")
def direct_tools(peers):
    """For each server the raw definitions by name: (offered to any client, offered to the most capable one)."""

    def listed(server, capabilities):
        with peers.direct(server, capabilities) as client:
            tools = raw.elements(raw.members(client.request("tools/list").result)["tools"])
            return {json.loads(raw.members(tool)["name"]): tool for tool in tools}

    # Others offer the same to everybody.
    def most(server, fewest):
        return listed(server, EVERYTHING) if server in rig.ASKING else fewest

    any_client = {server: listed(server, NOTHING) for server in peers.entries}
    return {server: (fewest, most(server, fewest)) for server, fewest in any_client.items()}
