"""One daemon with all five servers for the whole suite, and direct connections to compare it with."""

import json

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
    parser.addoption("--record", action="store_true", help="write the transcripts anew")


@pytest.fixture
def home(tmp_path):
    return clients.Home(tmp_path)


class Peers:
    """The five servers: reached through the daemon, or one by one without it."""

    def __init__(self, folder):
        self.folder = folder
        self.http = rig.EverythingOverHttp(folder / "everything-http.log")
        self.entries = rig.stdio_servers(folder) | {"web": {"type": "http", "url": self.http.url}}
        self.daemon = rig.Daemon(folder, dict(self.entries))

    def direct(self, server: str, capabilities: dict = NOTHING) -> raw.Client:
        """An initialized connection to one server without the daemon."""
        entry = self.entries[server]
        if "url" in entry:
            return raw.HttpClient(entry["url"]).open(capabilities)
        return raw.StdioClient(entry["command"], entry["args"], entry.get("env")).open(capabilities)

    def through(self, path: str) -> raw.HttpClient:
        """An initialized session with the daemon."""
        return raw.HttpClient(self.daemon.base + path).open()

    def offered(self) -> dict[str, str]:
        """`server:tool` → the name that `/mcp/all` offers it by, as the command line tells it."""
        listed = json.loads(self.daemon.cli("tools", "list", "-o", "json"))
        return {tool["name"]: tool["offered_name"] for tool in listed["tools"]}


@pytest.fixture(scope="session")
def peers(tmp_path_factory):
    peers = Peers(tmp_path_factory.mktemp("peers"))
    try:
        peers.daemon.start()
        peers.daemon.wait_until_ready()
        yield peers
    finally:
        if peers.daemon.process:
            peers.daemon.stop()
            print(f"\n--- {peers.daemon.log}\n{peers.daemon.log.read_text()[-4000:]}")
        peers.http.stop()


@pytest.fixture(scope="session")
def direct_tools(peers):
    """For each server the raw definitions by name: (offered to any client, offered to the most capable one)."""

    def listed(server, capabilities):
        with peers.direct(server, capabilities) as client:
            tools = raw.elements(raw.members(client.request("tools/list").result)["tools"])
            return {json.loads(raw.members(tool)["name"]): tool for tool in tools}

    return {server: (listed(server, NOTHING), listed(server, EVERYTHING)) for server in peers.entries}
