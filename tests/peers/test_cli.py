"""The command line beside a running daemon, and its health: what they print agrees with what the servers say themselves."""

import json

import pytest

import raw
import rig


def test_upstream_list_shows_every_server_ready_with_its_tools(peers, direct_tools):
    rows = peers.daemon.wait_until_ready()
    assert rows.keys() == peers.entries.keys()
    for name, row in rows.items():
        fewest, most = (len(tools) for tools in direct_tools[name])
        assert rig.is_up(name, row), row
        assert row["transport"] == ("http" if name == "web" else "stdio")
        assert fewest <= row["tools"] <= most, row
        assert (row["enabled"], row["quarantined"], row["last_error"]) == (True, False, None)
    for name in ("files", "memory", "time"):
        assert rows[name]["tools"] == len(direct_tools[name][0])


def test_the_table_has_a_line_for_each_server(peers):
    peers.daemon.wait_until_ready()
    table = peers.daemon.cli("upstream", "list")
    for name in peers.entries:
        states = ("Ready", "Asleep") if name in rig.ASKING else ("Ready",)
        assert any(name in line and any(state in line for state in states) for line in table.splitlines()), table


def test_status_counts_what_is_there(peers):
    peers.daemon.wait_until_ready()
    status = json.loads(peers.daemon.cli("status", "-o", "json"))
    assert status["pid"] == peers.daemon.process.pid
    assert status["url"] == f"{peers.daemon.base}/mcp"
    counts = status["servers"]
    assert counts["configured"] == 5
    assert counts["connected"] == counts["ready"] >= 3
    assert counts["ready"] + counts["asleep"] == 5
    assert status["tools"] == sum(row["tools"] for row in peers.daemon.servers().values())


def test_health_counts_all_that_are_connected(peers):
    peers.daemon.wait_until_ready()
    # A server that asks its clients is connected while somebody uses it.
    with peers.through("/mcp/all") as client:
        for tool in ("everything__get-tiny-image", "web__get-tiny-image", "files__list_allowed_directories"):
            assert not client.call(tool).value().get("isError"), tool
    answer = raw.http_request(peers.daemon.base + "/health", "GET", {"Host": "anything.example"})
    assert answer.status == 200
    health = json.loads(answer.body)
    assert (health["status"], health["backends_configured"], health["backends_connected"]) == ("ok", 5, 5)


def test_tools_list_can_be_narrowed_to_one_server(peers, direct_tools):
    listed = json.loads(peers.daemon.cli("tools", "list", "--server", "time", "-o", "json"))["tools"]
    assert {tool["name"] for tool in listed} == {f"time:{tool}" for tool in direct_tools["time"][0]}
    assert all(tool["callable"] for tool in listed)


def test_tools_show_prints_the_definition_as_the_server_wrote_it(peers, direct_tools):
    shown = json.loads(peers.daemon.cli("tools", "show", "time:get_current_time", "-o", "json"))
    assert shown["definition"] == json.loads(direct_tools["time"][0]["get_current_time"])
    assert shown["offered_name"] == "time__get_current_time"


def test_call_prints_the_result(peers):
    printed = peers.daemon.cli("call", "read", "time:get_current_time", "--args", '{"timezone":"UTC"}')
    assert json.loads(printed)["timezone"] == "UTC"
    result = json.loads(
        peers.daemon.cli("call", "read", "time:get_current_time", "--args", '{"timezone":"UTC"}', "-o", "json")
    )
    assert result["structuredContent"]["timezone"] == "UTC"


@pytest.mark.parametrize(
    "variant, name, args, code",
    [
        ("read", "everything:get-sum", '{"a": 1}', 1),  # the tool itself answers with an error
        ("read", "files:write_file", '{"path": "x", "content": "y"}', 4),  # it says of itself that it writes
        ("read", "time:no_such_tool", "{}", 1),
        ("read", "nobody:echo", "{}", 1),
        ("sometimes", "time:get_current_time", "{}", 2),
        ("read", "time:get_current_time", "{not json", 2),
    ],
)
def test_call_says_by_its_exit_code_what_went_wrong(peers, variant, name, args, code):
    peers.daemon.cli("call", variant, name, "--args", args, code=code)


def test_a_disabled_server_leaves_the_catalog_and_comes_back(peers):
    def callable_servers():
        listed = json.loads(peers.daemon.cli("tools", "list", "-o", "json"))["tools"]
        return {tool["server"] for tool in listed if tool["callable"]}

    assert "time" in callable_servers()
    peers.daemon.cli("upstream", "disable", "time")
    try:
        assert "time" not in callable_servers()
        with peers.through("/mcp/all") as client:
            assert "time__" not in client.request("tools/list").result
    finally:
        peers.daemon.cli("upstream", "enable", "time")
    assert "time" in callable_servers()
    peers.daemon.cli("call", "read", "time:get_current_time", "--args", '{"timezone":"UTC"}')
    peers.daemon.wait_until_ready()
