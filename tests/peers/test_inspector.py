"""The MCP Inspector's command line: the tool with which people look at a server."""

import json

import pytest

import clients
import doors


def inspect(home, target: dict, method: str, *more: str, era: str = "legacy") -> dict:
    """One method, on a connection of its own. The Inspector counts what is a file or a command by itself."""
    asked = ["--transport", target["transport"], "--protocol-era", era, "--method", method, *more]
    if target["transport"] == "stdio":
        # What follows `--` is the server's.
        to = [*asked, "--", target["command"], *target["args"]]
    else:
        to = [target["url"], *asked]
    return json.loads(home.run(*clients.INSPECTOR, *to))


@pytest.mark.parametrize(
    "era, door",
    [
        *(("legacy", door) for door in doors.SOME),
        *(("auto", door) for door in (doors.HTTP[1], doors.STDIO[0])),
        *(("modern", door) for door in (doors.HTTP[2], doors.STDIO[1])),
    ],
    ids=str,
)
def test_it_lists_and_calls(peers, home, era, door):
    target, call = door.target(peers.daemon), door.call()
    door.check_list(tool["name"] for tool in inspect(home, target, "tools/list", era=era)["tools"])
    pairs = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in call["arguments"].items()]
    arguments = [word for pair in pairs for word in ("--tool-arg", pair)]
    doors.check_time(inspect(home, target, "tools/call", "--tool-name", call["name"], *arguments, era=era))


def test_it_finds_nothing_unportable_in_our_own_definitions(peers, home):
    inspect(home, {"transport": "http", "url": peers.daemon.base + "/mcp"}, "tools/list", "--strict")


@pytest.mark.parametrize("method, member", [("prompts/list", "prompts"), ("resources/list", "resources")])
def test_it_lists_prompts_and_resources(peers, home, method, member):
    target = {"transport": "http", "url": peers.daemon.base + "/mcp"}
    assert inspect(home, target, method)[member]
