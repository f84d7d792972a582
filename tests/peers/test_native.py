"""`/mcp/server/NAME` is that server and nothing else: its handshake, names, lists and answers."""

import json

import pytest

import raw

SERVERS = ["everything", "files", "memory", "time", "web"]


def introduction(client: raw.Client) -> tuple:
    """What a server says of itself, wherever its era puts that: name and instructions as they were written."""
    said = raw.members(client.introduced.result)
    name = said.get("serverInfo") or raw.members(said["_meta"])["io.modelcontextprotocol/serverInfo"]
    return name, said.get("instructions"), json.loads(said["capabilities"])


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("revision", raw.ERAS)
def test_the_introduction_is_the_servers_own(peers, server, revision):
    with peers.direct(server) as direct, peers.through(f"/mcp/server/{server}", revision) as ours:
        *theirs, offered = introduction(direct)
        *said, kept = introduction(ours)
        assert said == theirs
        for capability in ("tools", "prompts", "resources", "completions", "logging"):
            assert (capability in kept) == (capability in offered), capability
        answer = ours.introduced.value()
        if revision == raw.MODERN:
            assert answer["supportedVersions"] == [raw.MODERN]
        else:
            assert answer["protocolVersion"] == revision


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("revision", raw.ERAS)
def test_tools_are_listed_as_they_are(peers, direct_tools, server, revision):
    with peers.through(f"/mcp/server/{server}", revision) as client:
        tools = raw.elements(raw.members(client.request("tools/list").result)["tools"])
    ours = {json.loads(raw.members(tool)["name"]): tool for tool in tools}
    for_any_client, for_the_most_capable = direct_tools[server]
    assert for_any_client.keys() <= ours.keys() <= for_the_most_capable.keys()
    assert ours == {name: for_the_most_capable[name] for name in ours}


@pytest.mark.parametrize(
    "server, method, member",
    [
        *((server, "prompts/list", "prompts") for server in ("everything", "web")),
        *((server, "resources/list", "resources") for server in ("everything", "web", "memory")),
        *((server, "resources/templates/list", "resourceTemplates") for server in ("everything", "web")),
    ],
)
def test_prompts_and_resources_are_listed_as_they_are(peers, server, method, member):
    def listing(client):
        return sorted(raw.elements(raw.members(client.request(method).result)[member]))

    with peers.direct(server) as direct, peers.through(f"/mcp/server/{server}") as ours:
        theirs = listing(direct)
        assert theirs
        assert listing(ours) == theirs


@pytest.mark.parametrize("server", ["everything", "web"])
@pytest.mark.parametrize(
    "method, params",
    [
        ("prompts/get", {"name": "simple-prompt"}),
        ("prompts/get", {"name": "args-prompt", "arguments": {"city": "Köln", "state": "NRW"}}),
        ("prompts/get", {"name": "args-prompt"}),
        ("resources/read", {"uri": "demo://resource/static/document/features.md"}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "completable-prompt"}, "argument": {"name": "department", "value": "E"}},
        ),
        ("ping", None),
    ],
)
def test_a_request_is_answered_as_without_the_daemon(peers, server, method, params):
    with peers.direct(server) as direct, peers.through(f"/mcp/server/{server}") as ours:
        theirs, ours = direct.request(method, params), ours.request(method, params)
        assert (ours.result, ours.error) == (theirs.result, theirs.error)


@pytest.mark.parametrize("server", ["everything", "web"])
def test_a_prompt_that_the_server_does_not_list_is_refused(peers, server):
    with peers.through(f"/mcp/server/{server}") as ours:
        error = json.loads(ours.request("prompts/get", {"name": "no-such-prompt"}).error)
        assert error["code"] == -32602
        assert error["data"]["code"] == "unknown_prompt"
        assert "no-such-prompt" in error["message"]


def test_a_server_without_prompts_does_not_get_any(peers):
    with peers.through("/mcp/server/files") as client:
        assert client.request("prompts/list").result in (None, '{"prompts":[]}')


@pytest.mark.parametrize("server", ["everything", "web"])
def test_progress_arrives_under_the_callers_own_token(peers, server):
    with peers.through(f"/mcp/server/{server}") as client:
        reply = client.call(
            "trigger-long-running-operation", {"duration": 1, "steps": 4}, _meta={"progressToken": "mine-é"}
        )
        progress = [notice["params"] for notice in reply.notices if notice["method"] == "notifications/progress"]
        assert not reply.value().get("isError")
        assert [(it["progressToken"], it["progress"], it["total"]) for it in progress] == [
            ("mine-é", step, 4) for step in (1, 2, 3, 4)
        ]


def test_a_server_that_is_not_there_has_no_endpoint(peers):
    answer = raw.http_request(
        peers.daemon.base + "/mcp/server/nobody",
        "POST",
        {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"},
        '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    )
    assert answer.status == 404
    assert "nobody" in answer.body
