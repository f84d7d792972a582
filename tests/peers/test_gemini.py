"""Gemini CLI: `gemini mcp list` connects to every server of its settings, without an account."""

import re

import clients
import doors

# What it says of a server: a mark, the name, what it was told, the outcome.
LINE = re.compile(r"^\S+ (?P<name>[\w-]+): .* - (?P<outcome>\w+)$", re.MULTILINE)


def entry(target: dict) -> dict:
    match target["transport"]:
        case "http":
            return {"httpUrl": target["url"]}
        case "sse":
            return {"url": target["url"], "type": "sse"}
        case "stdio":
            return {"command": target["command"], "args": target["args"]}


def test_it_connects_through_every_door(peers, home):
    # An underscore in a server's name would end it, in the names that Gemini gives to tools.
    servers = {f"door-{number}": entry(door.target(peers.daemon)) for number, door in enumerate(doors.ALL)}
    settings = {
        "mcpServers": servers,
        "security": {"folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    }
    home.write(".gemini/settings.json", settings)
    said = home.run(*clients.GEMINI, "mcp", "list")
    assert dict(LINE.findall(said)) == dict.fromkeys(servers, "Connected"), said
