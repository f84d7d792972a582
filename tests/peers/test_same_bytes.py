"""A result reaches the client as the server wrote it, byte for byte."""

import base64

import pytest

import calls

SERVERS = ["everything", "files", "memory", "time", "web"]


@pytest.fixture(scope="module", autouse=True)
def something_to_read(peers):
    (peers.folder / "files" / "dot.png").write_bytes(base64.b64decode(calls.PNG))
    with peers.through("/mcp/all") as client:
        ada = {"name": "Ada Lovelace", "entityType": "person", "observations": ["wrote the first program", "Ω ≈ 3"]}
        assert not client.call("memory__create_entities", {"entities": [ada]}).value().get("isError")


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("face", ["/mcp/server/{server}", "/mcp/all"])
def test_a_result_is_the_same_as_without_the_daemon(peers, server, face):
    path = face.format(server=server)
    prefix = f"{server}__" if path == "/mcp/all" else ""
    with peers.direct(server) as direct, peers.through(path) as proxied:
        for tool, arguments in calls.repeatable(server, peers.folder):
            before = direct.call(tool, arguments)
            ours = proxied.call(prefix + tool, arguments)
            after = direct.call(tool, arguments)
            # Asked twice, because `convert_time` answers with today's date.
            assert (ours.result, ours.error) in [(it.result, it.error) for it in (before, after)], tool


def test_a_page_long_text_is_the_same(peers):
    big = "zeile mit ümlaut\n" * 200_000
    (peers.folder / "files" / "big.txt").write_text(big, encoding="utf-8")
    arguments = {"path": str(peers.folder / "files" / "big.txt")}
    with peers.direct("files") as direct, peers.through("/mcp/all") as proxied:
        result = proxied.call("files__read_text_file", arguments).result
        assert len(result) > 3_000_000
        assert result == direct.call("read_text_file", arguments).result
