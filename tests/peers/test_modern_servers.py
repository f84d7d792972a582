"""Servers made with the official SDKs of today: the daemon speaks to them without a handshake, to whatever client."""

import json

import pytest

import raw
import worlds


@pytest.fixture(scope="module")
def modern(tmp_path_factory):
    with worlds.world(tmp_path_factory.mktemp("modern")) as peers:
        yield peers


@pytest.mark.parametrize("server", worlds.MODERN)
def test_the_daemon_speaks_to_it_without_a_handshake(modern, server):
    assert modern.era(server) == raw.MODERN
    with modern.through(f"/mcp/server/{server}", raw.MODERN) as client:
        # Where there was a handshake the daemon itself would say who answers.
        answer = client.call("greet", {"name": "Ada"}).value()
        assert answer["resultType"] == "complete"
        who = answer.get("_meta", {}).get("io.modelcontextprotocol/serverInfo", {}).get("name")
        assert who in (None, server.removesuffix("-http")), answer


@pytest.mark.parametrize("server", worlds.MODERN)
@pytest.mark.parametrize("revision", raw.ERAS)
def test_it_is_listed_as_it_is(modern, server, revision):
    def listed(client):
        return raw.members(client.request("tools/list").result)["tools"]

    with modern.direct(server, client=revision) as direct, modern.through(f"/mcp/server/{server}", revision) as ours:
        tools = listed(direct)
        assert listed(ours) == tools
        assert {json.loads(raw.members(tool)["name"]) for tool in raw.elements(tools)} == {"greet", "ask", "write"}


@pytest.mark.parametrize("server", worlds.MODERN)
@pytest.mark.parametrize("revision", raw.ERAS)
@pytest.mark.parametrize("face", ["/mcp/server/{server}", "/mcp/all", "/mcp"])
def test_it_is_called(modern, server, revision, face):
    call = ("greet", {"name": "Ada"})
    if face == "/mcp/all":
        call = (f"{server}__greet", {"name": "Ada"})
    if face == "/mcp":
        call = ("call_tool_read", {"name": f"{server}:greet", "args": {"name": "Ada"}})
    with modern.through(face.format(server=server), revision) as client:
        answer = client.call(*call).value()
        assert not answer.get("isError"), answer
        assert "Hello, Ada!" in answer["content"][0]["text"]


@pytest.mark.parametrize("server", worlds.MODERN)
def test_a_question_that_nobody_can_answer_is_an_error_that_says_so(modern, server):
    with modern.through(f"/mcp/server/{server}") as client:
        answer = client.call("ask")
        said = answer.error or answer.value()["isError"] and answer.result
        assert said and ("elicitation" in said or "asked a question, but" in said), answer
