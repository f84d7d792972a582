"""What `/mcp/all` lists: every tool of every server, named by its server, otherwise as the server wrote it."""

import json
import re

import pytest

import raw

SERVERS = ["everything", "files", "memory", "time", "web"]


@pytest.fixture(scope="module")
def listed(peers):
    """The raw definitions of `/mcp/all` by offered name."""
    with peers.through("/mcp/all") as client:
        result = raw.members(client.request("tools/list").result)
    assert "nextCursor" not in result
    return {json.loads(raw.members(tool)["name"]): tool for tool in raw.elements(result["tools"])}


@pytest.mark.parametrize("server", SERVERS)
def test_every_tool_of_a_server_is_listed_under_the_servers_name(peers, listed, direct_tools, server):
    for_any_client, for_the_most_capable = direct_tools[server]
    offered = peers.offered()
    of_server = {name.partition(":")[2]: name for name in offered if name.partition(":")[0] == server}
    assert for_any_client.keys() <= of_server.keys() <= for_the_most_capable.keys()
    for tool, name in of_server.items():
        # What only a client with more capabilities could use need not be listed for this one, which declares none.
        assert offered[name] in listed or tool not in for_any_client
        plain = f"{server}__{tool}"
        if len(plain) <= 40:
            assert offered[name] == plain
        else:
            # Of a name that is too long the server's is cut first.
            assert offered[name].startswith(server[:8])


@pytest.mark.parametrize("server", SERVERS)
def test_a_definition_is_untouched_but_for_name_and_description(peers, listed, direct_tools, server):
    for name, offered_name in peers.offered().items():
        of, _, tool = name.partition(":")
        if of != server or (offered_name not in listed and tool not in direct_tools[server][0]):
            continue
        original = raw.members(direct_tools[server][1][tool])
        ours = raw.members(listed[offered_name])
        assert list(ours) == list(original), "the members and their order"
        assert json.loads(ours["description"]) == f"[{server}] {json.loads(original['description'])}"
        for member in original.keys() - {"name", "description"}:
            assert ours[member] == original[member], f"{name}: {member}"


def test_names_are_accepted_everywhere_and_sorted(listed):
    names = list(listed)
    assert names == sorted(names)
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)] == []


def test_two_lists_are_the_same_bytes(peers):
    def listing():
        with peers.through("/mcp/all") as client:
            return client.request("tools/list").result

    assert listing() == listing()
