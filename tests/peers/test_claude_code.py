"""Claude Code: `claude mcp list` connects to every configured server, without an account.

What it sends to a server on first contact is kept in `transcripts/claude_code_first_contact.json`. After a change
of its version, or of what the daemon answers: `tests/peers/run test_claude_code.py --record`, and read the diff.
"""

import json
import re
from pathlib import Path

import pytest

import clients
import doors
import tap

TRANSCRIPT = Path(__file__).with_name("transcripts") / "claude_code_first_contact.json"
# The rest is that of any HTTP client.
HEADERS = ("accept", "content-type", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "user-agent")
LINE = re.compile(r"^(?P<name>[\w-]+): .* - \S+ (?P<outcome>.+)$", re.MULTILINE)


def add(home, name: str, target: dict):
    """As its own command does it; nothing is contacted."""
    to = [target["url"]] if "url" in target else ["--", target["command"], *target["args"]]
    home.run(*clients.CLAUDE, "mcp", "add", "--scope", "user", "--transport", target["transport"], name, *to)


def outcomes(home) -> dict[str, str]:
    said = home.run(*clients.CLAUDE, "mcp", "list")
    found = dict(LINE.findall(said))
    assert found, said
    return found


@pytest.mark.parametrize("door", doors.ALL, ids=str)
def test_it_connects(peers, home, door):
    add(home, "mcpproxy", door.target(peers.daemon))
    assert outcomes(home) == {"mcpproxy": "Connected"}, home.logs()


def test_it_takes_the_entry_of_a_project(peers, home):
    entry = {"type": "http", "url": peers.daemon.base + "/mcp"}
    home.write("project/.mcp.json", {"mcpServers": {"mcpproxy": entry}})
    # What its question, whether this project is trusted, would leave behind.
    home.write(".claude/settings.json", {"enableAllProjectMcpServers": True})
    trusted = {str(home.project): {"hasTrustDialogAccepted": True}}
    home.write(".claude.json", {"projects": trusted})
    assert outcomes(home) == {"mcpproxy": "Connected"}, home.logs()


@pytest.fixture(scope="module")
def first_contact(peers, tmp_path_factory):
    """What passes between a Claude Code that has never been here and the daemon."""
    home = clients.Home(tmp_path_factory.mktemp("first_contact"))
    with tap.Tap(peers.daemon.port) as tapped:
        add(home, "mcpproxy", {"transport": "http", "url": tapped.base + "/mcp"})
        assert tapped.seen == []
        assert outcomes(home) == {"mcpproxy": "Connected"}, home.logs()
        return list(tapped.seen)


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


def test_it_sends_on_first_contact_what_the_transcript_says(first_contact, request):
    recorded = [lasting(seen) for seen in first_contact]
    if request.config.getoption("--record"):
        TRANSCRIPT.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")
    kept = json.loads(TRANSCRIPT.read_text(encoding="utf-8"))
    assert shape(recorded) == shape(kept), "read the head of this file"


def test_nothing_of_the_first_contact_is_answered_as_if_a_login_were_wanted(first_contact):
    for seen in first_contact:
        assert seen.status in (200, 202, 404), seen
        assert "www-authenticate" not in seen.answered, seen
        if seen.status == 404:
            assert seen.answered["content-type"].startswith("application/json"), seen
            assert json.loads(seen.answer), seen


def test_the_first_contact_is_answered_as_it_has_to_be(first_contact):
    by_what = {}
    for seen in first_contact:
        by_what.setdefault((seen.message() or {}).get("method", seen.method), seen)
    probe = by_what["server/discover"].reply()
    assert probe["id"] == by_what["server/discover"].message()["id"]
    if "error" in probe:
        # By this it knows that it has to send `initialize`.
        assert probe["error"]["code"] == -32601
        opened = by_what["initialize"]
        assert opened.answered["mcp-session-id"]
        assert len(opened.reply()["result"]["instructions"]) <= 2048
        assert by_what["notifications/initialized"].status == 202
        listening = by_what["GET"]
    else:
        listening = by_what["subscriptions/listen"]
    assert listening.answered["content-type"].startswith("text/event-stream")
    tools = by_what["tools/list"].reply()["result"]["tools"]
    assert doors.SEARCH <= {tool["name"] for tool in tools}
    # What it would cut, or drop.
    assert [tool["name"] for tool in tools if len(tool["description"]) > 2048] == []
    assert [tool["name"] for tool in tools if len(f"mcp__mcpproxy__{tool['name']}") > 64] == []
