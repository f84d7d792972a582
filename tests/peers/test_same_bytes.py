"""A result reaches the client as the server wrote it, byte for byte: from every transport, through every transport, in both eras.

The one exception is a URI that two servers have: where the address names the second one otherwise, its results do, too.
"""

import base64
import json

import pytest

import calls
import doors
import raw
import rig
from conftest import Peers

SERVERS = ["everything", "files", "memory", "time", "web"]
# A server over each transport, in each era that it has.
UPSTREAMS = ["pipe", "http", "sse", "modern-pipe", "modern-http"]
# The client's side: how it comes in, and which era it speaks.
WAYS = [("http", raw.REVISION), ("http", raw.MODERN), ("sse", raw.REVISION), ("stdio", raw.REVISION), ("stdio", raw.MODERN)]
# Stands for what says that we brought a result into the newer era.
BRIDGED = "mcpproxy"
FACES = ["/mcp/server/{server}", "/mcp/all"]


@pytest.fixture(scope="module", autouse=True)
def something_to_read(peers):
    (peers.folder / "files" / "dot.png").write_bytes(base64.b64decode(calls.PNG))
    with peers.through("/mcp/all") as client:
        ada = {"name": "Ada Lovelace", "entityType": "person", "observations": ["wrote the first program", "Ω ≈ 3"]}
        assert not client.call("memory__create_entities", {"entities": [ada]}).value().get("isError")


@pytest.fixture(scope="module")
def transports(tmp_path_factory):
    """One daemon with the everything server over each of the older transports, and newer servers over theirs."""
    folder = tmp_path_factory.mktemp("transports")
    web = rig.EverythingOverHttp(folder / "http.log")
    old = rig.EverythingOverHttp(folder / "sse.log", "sse")
    modern = rig.Served(folder / "modern.log", *rig.TYPESCRIPT_SERVER, "PORT")
    known = rig.stdio_servers(folder)
    entries = {
        "pipe": known["everything"],
        "http": {"type": "http", "url": web.url},
        "sse": {"type": "sse", "url": old.url},
        "modern-pipe": known["time"] | {"protocol_era": "modern"},
        "modern-http": {"type": "http", "url": modern.url},
    }
    transports = Peers(folder, entries)
    try:
        transports.daemon.start().wait_until_ready()
        yield transports
    finally:
        transports.end()
        for served in (web, old, modern):
            served.stop()


def come_in(peers: Peers, transport: str, revision: str, path: str) -> raw.Client:
    match transport:
        case "http":
            client = raw.HttpClient(peers.daemon.base + path)
        case "sse":
            client = raw.SseClient(f"{peers.daemon.base}{path}/sse")
        case "stdio":
            told = doors.process(peers.daemon, "stdio", "--endpoint", path)
            client = raw.StdioClient(told["command"], told["args"], told["env"])
    return client.open(revision=revision)


def as_it_has_to_be(reply: raw.Reply, theirs: str, ours: str) -> tuple:
    """What the server said, to a client of its era; a client of the other gets what its own era adds, or does without."""
    if theirs == ours or reply.result is None:
        return reply.result, reply.error
    members = raw.members(reply.result)
    if ours == raw.MODERN:
        assert "_meta" not in members, "the place for who bridged it"
        members |= {"resultType": '"complete"', "_meta": BRIDGED}
    else:
        del members["resultType"]
    return members, reply.error


def as_it_is(reply: raw.Reply, theirs: str, ours: str) -> tuple:
    if theirs == ours or reply.result is None:
        return reply.result, reply.error
    members = raw.members(reply.result)
    if ours == raw.MODERN:
        assert json.loads(members["_meta"]).keys() == {"io.modelcontextprotocol/serverInfo"}
        members["_meta"] = BRIDGED
    return members, reply.error


def templates(client: raw.Client) -> list[str]:
    reply = client.request("resources/templates/list")
    return [it["uriTemplate"] for it in reply.value()["resourceTemplates"]] if reply.result else []


def renamed(direct: raw.Client, proxied: raw.Client, server: str) -> dict[str, str]:
    """How the URIs of the server's templates begin, and how they do at this address, where another server has the same."""
    listed = templates(proxied)
    offered = {own: own.replace("://", f"://{server}/") for own in templates(direct)}
    return {own.partition("{")[0]: it.partition("{")[0] for own, it in offered.items() if it in listed}


def as_offered(reply: raw.Reply, names: dict[str, str]) -> raw.Reply:
    for own, offered in names.items():
        reply.result = reply.result and reply.result.replace(f'"uri":"{own}', f'"uri":"{offered}')
    return reply


def compare(direct: raw.Client, proxied: raw.Client, server: str, prefix: str, repeated: list):
    eras = (direct.revision, proxied.revision)
    names = renamed(direct, proxied, server)
    for tool, arguments in repeated:
        before = as_offered(direct.call(tool, arguments), names)
        ours = proxied.call(prefix + tool, arguments)
        after = as_offered(direct.call(tool, arguments), names)
        # Asked twice, because `convert_time` answers with today's date.
        assert as_it_is(ours, *eras) in [as_it_has_to_be(it, *eras) for it in (before, after)], tool


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("revision", raw.ERAS)
def test_a_result_is_the_same_as_without_the_daemon(peers, server, face, revision):
    path = face.format(server=server)
    prefix = f"{server}__" if path == "/mcp/all" else ""
    with peers.direct(server) as direct, peers.through(path, revision) as proxied:
        compare(direct, proxied, server, prefix, calls.repeatable(server, peers.folder))


@pytest.mark.parametrize("server", UPSTREAMS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(way))
@pytest.mark.parametrize("face", FACES)
def test_it_is_the_same_from_every_transport_through_every_transport(transports, server, way, face):
    path = face.format(server=server)
    prefix = f"{server}__" if path == "/mcp/all" else ""
    assert transports.era(server) == (raw.MODERN if server.startswith("modern") else raw.REVISION)
    with transports.direct(server) as direct, come_in(transports, *way, path) as proxied:
        compare(direct, proxied, server, prefix, calls.repeatable(server, transports.folder))


def test_a_page_long_text_is_the_same(peers):
    big = "zeile mit ümlaut\n" * 200_000
    (peers.folder / "files" / "big.txt").write_text(big, encoding="utf-8")
    arguments = {"path": str(peers.folder / "files" / "big.txt")}
    with peers.direct("files") as direct, peers.through("/mcp/all") as proxied:
        result = proxied.call("files__read_text_file", arguments).result
        assert len(result) > 3_000_000
        assert result == direct.call("read_text_file", arguments).result
