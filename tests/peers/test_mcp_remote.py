"""`mcp-remote`, through which clients that can only start a process reach a URL."""

import pytest

import clients
import doors
import raw


@pytest.mark.parametrize(
    "door, protocol",
    [*((door, "legacy") for door in (doors.HTTP[0], doors.HTTP[2], doors.SSE[1], doors.SSE[3])), (doors.HTTP[1], "auto")],
    ids=str,
)
def test_it_lists_and_calls(peers, home, door, protocol):
    """With `auto` it speaks 2026-07-28 to us on behalf of a client that shakes hands."""
    target, call = door.target(peers.daemon), door.call()
    node, script = clients.MCP_REMOTE
    args = [script, target["url"], "--transport", f"{target['transport']}-only", "--protocol", protocol]
    with raw.StdioClient(node, args, home.environment | {"MCP_REMOTE_CONFIG_DIR": str(home.folder / "auth")}) as client:
        client.open()
        door.check_list(tool["name"] for tool in client.request("tools/list").value()["tools"])
        doors.check_time(client.call(call["name"], call["arguments"]).value())
    # It never came to a login: nothing is remembered.
    assert [it for it in home.folder.rglob("*token*")] == []
