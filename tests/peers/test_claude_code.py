"""Claude Code: `claude mcp list` connects to every configured server, without an account.

What it sends on first contact to servers that are not ours and want no login is kept in `transcripts`: to one that speaks
2026-07-28, to one that does not, and to one that it is told to shake hands with. After a change of its version:
`tests/peers/run -k first_contact --record`, and read the diff.
"""

import json
import re
from pathlib import Path

import pytest

import clients
import doors
import raw
import rig
import tap

TRANSCRIPTS = Path(__file__).with_name("transcripts")
# What it is told about the era, by itself nothing.
TOLD = {"modern": {}, "fallback": {}, "legacy": {"MCP_PROTOCOL_NEGOTIATION": "legacy"}}
# The rest is that of any HTTP client.
HEADERS = ("accept", "content-type", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "user-agent")
LINE = re.compile(r"^(?P<name>[\w-]+): .* - \S+ (?P<outcome>.+)$", re.MULTILINE)


def add(home, name: str, target: dict):
    """As its own command does it; nothing is contacted."""
    to = [target["url"]] if "url" in target else ["--", target["command"], *target["args"]]
    home.run(*clients.CLAUDE, "mcp", "add", "--scope", "user", "--transport", target["transport"], name, *to)


def write(home, targets: dict[str, dict]):
    """The same in its file, without starting it for each."""
    file = home.folder / ".claude.json"
    settings = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    entries = {
        name: {"type": target["transport"]} | {key: target[key] for key in ("url", "command", "args") if key in target}
        for name, target in targets.items()
    }
    home.write(file.name, settings | {"mcpServers": settings.get("mcpServers", {}) | entries})


def outcomes(home) -> dict[str, str]:
    said = home.run(*clients.CLAUDE, "mcp", "list")
    found = dict(LINE.findall(said))
    assert found, said
    return found


def test_it_connects_through_every_door(peers, home):
    targets = {f"door-{number}": (door, door.target(peers.daemon)) for number, door in enumerate(doors.ALL)}
    for name, (door, target) in targets.items():
        if door in doors.SOME:
            add(home, name, target)
    write(home, {name: target for name, (door, target) in targets.items() if door not in doors.SOME})
    assert outcomes(home) == dict.fromkeys(targets, "Connected"), home.logs()


def test_it_takes_the_entry_of_a_project(peers, home):
    entry = {"type": "http", "url": peers.daemon.base + "/mcp"}
    home.write("project/.mcp.json", {"mcpServers": {"mcpproxy": entry}})
    # What its question, whether this project is trusted, would leave behind.
    home.write(".claude/settings.json", {"enableAllProjectMcpServers": True})
    trusted = {str(home.project): {"hasTrustDialogAccepted": True}}
    home.write(".claude.json", {"projects": trusted})
    assert outcomes(home) == {"mcpproxy": "Connected"}, home.logs()


def contact(folder, port: int, told: dict) -> list[tap.Seen]:
    """What passes between a Claude Code that has never been here and the server at a port."""
    home = clients.Home(folder)
    home.environment |= told
    with tap.Tap(port) as tapped:
        write(home, {"mcpproxy": {"transport": "http", "url": tapped.base + "/mcp"}})
        assert outcomes(home) == {"mcpproxy": "Connected"}, home.logs()
        return list(tapped.seen)


@pytest.fixture(scope="module")
def with_others(tmp_path_factory):
    """The first contact with servers without the daemon, by what they are."""
    folder = tmp_path_factory.mktemp("others")
    modern = rig.Served(folder / "modern.log", *rig.TYPESCRIPT_SERVER, "PORT")
    older = rig.EverythingOverHttp(folder / "older.log")
    ports = {"modern": modern.port, "fallback": older.port, "legacy": modern.port}
    try:
        return {kind: contact(folder / kind, port, TOLD[kind]) for kind, port in ports.items()}
    finally:
        modern.stop()
        older.stop()


@pytest.fixture(scope="module")
def with_us(peers, tmp_path_factory):
    """The first contact with the daemon, which speaks both eras."""
    folder = tmp_path_factory.mktemp("us")
    return {kind: contact(folder / kind, peers.daemon.port, TOLD[kind]) for kind in ("modern", "legacy")}


def lasting(seen: tap.Seen) -> dict:
    """What would be the same tomorrow, of one request and of its answer."""
    headers = {name: seen.headers[name] for name in HEADERS if name in seen.headers}
    if "mcp-session-id" in headers:
        headers["mcp-session-id"] = "SESSION"
    text = json.dumps({"headers": headers, "body": seen.message()})
    if version := re.search(r"claude-code/([\d.]+)", text):
        text = text.replace(version[1], "VERSION")
    kept = {"method": seen.method, "path": seen.path} | json.loads(text)
    answer = {"status": seen.status} | ({"content-type": kind} if (kind := seen.answered.get("content-type")) else {})
    if error := (seen.reply() or {}).get("error"):
        answer["error"] = error["code"]
    return kept | {"answer": answer}


def shape(transcript: list[dict]) -> set[tuple]:
    """The requests, whatever is in them and whichever came first: some are sent at the same time."""
    return {(it["method"], it["path"], (it["body"] or {}).get("method")) for it in transcript}


@pytest.mark.parametrize("kind", TOLD)
def test_it_sends_on_first_contact_what_the_transcript_says(with_others, kind, request):
    recorded = [lasting(seen) for seen in with_others[kind]]
    transcript = TRANSCRIPTS / f"claude_code_{kind}.json"
    if request.config.getoption("--record"):
        transcript.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")
    kept = json.loads(transcript.read_text(encoding="utf-8"))
    assert shape(recorded) == shape(kept), "read the head of this file"


@pytest.mark.parametrize("kind", ["modern", "legacy"])
def test_on_first_contact_it_takes_us_for_a_server_of_either_era(with_us, kind):
    kept = json.loads((TRANSCRIPTS / f"claude_code_{kind}.json").read_text(encoding="utf-8"))
    assert shape([lasting(seen) for seen in with_us[kind]]) == shape(kept)


@pytest.mark.parametrize("kind", ["modern", "legacy"])
def test_nothing_of_the_first_contact_is_answered_as_if_a_login_were_wanted(with_us, kind):
    for seen in with_us[kind]:
        assert seen.status in (200, 202, 404), seen
        assert "www-authenticate" not in seen.answered, seen
        if seen.status == 404:
            assert seen.answered["content-type"].startswith("application/json"), seen
            assert json.loads(seen.answer), seen


def by_method(contact: list[tap.Seen]) -> dict[str, tap.Seen]:
    return {(seen.message() or {}).get("method", seen.method): seen for seen in reversed(contact)}


@pytest.mark.parametrize("kind", ["modern", "legacy"])
def test_the_first_contact_brings_our_tools_and_nothing_that_it_would_cut_or_drop(with_us, kind):
    tools = by_method(with_us[kind])["tools/list"].reply()["result"]["tools"]
    assert doors.SEARCH <= {tool["name"] for tool in tools}
    assert [tool["name"] for tool in tools if len(tool["description"]) > 2048] == []
    assert [tool["name"] for tool in tools if len(f"mcp__mcpproxy__{tool['name']}") > 64] == []


def test_the_first_contact_without_a_handshake_is_answered_as_it_has_to_be(with_us):
    said = by_method(with_us["modern"])
    found = said["server/discover"].reply()
    assert found["id"] == said["server/discover"].message()["id"]
    assert "2026-07-28" in found["result"]["supportedVersions"]
    assert len(found["result"]["instructions"]) <= 2048
    assert "initialize" not in said
    assert [seen for seen in with_us["modern"] if "mcp-session-id" in seen.answered] == []
    listening = said["subscriptions/listen"]
    assert listening.answered["content-type"].startswith("text/event-stream")
    honored = json.loads(raw.HttpAnswer(200, listening.answered, listening.answer.decode()).frames()[0])
    assert honored["method"] == "notifications/subscriptions/acknowledged", honored


def test_the_first_contact_with_a_handshake_is_answered_as_it_has_to_be(with_us):
    said = by_method(with_us["legacy"])
    opened = said["initialize"]
    assert opened.answered["mcp-session-id"]
    assert len(opened.reply()["result"]["instructions"]) <= 2048
    assert said["notifications/initialized"].status == 202
    assert said["GET"].answered["content-type"].startswith("text/event-stream")
