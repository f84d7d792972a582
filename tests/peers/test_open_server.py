"""What clients ask of a server that wants no login, and misread when it is answered in any other way."""

import json

import pytest

from raw import REVISION, http_request

WELL_KNOWN = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/mcp",
    "/mcp/.well-known/openid-configuration",
    "/mcp/.well-known/oauth-protected-resource",
]
ACCEPT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
INITIALIZE = {
    "protocolVersion": REVISION,
    "capabilities": {},
    "clientInfo": {"name": "curl", "version": "1"},
}


def message(method: str, params: dict | None = None, id: int | None = 1) -> str:
    return json.dumps({"jsonrpc": "2.0", "method": method} | ({"id": id} if id else {}) | ({"params": params} if params else {}))


@pytest.fixture
def url(peers):
    return peers.daemon.base + "/mcp"


@pytest.mark.parametrize("method, path", [*(("GET", path) for path in WELL_KNOWN), ("POST", "/register")])
def test_login_is_nowhere_to_be_found(peers, method, path):
    answer = http_request(peers.daemon.base + path, method, {"Accept": "application/json"})
    assert answer.status == 404
    assert answer.headers["content-type"].startswith("application/json")
    assert "error" in json.loads(answer.body)
    assert "www-authenticate" not in answer.headers


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2025-09-01"])
def test_initialize_opens_a_session_for_any_legacy_date(url, revision):
    answer = http_request(url, "POST", ACCEPT, message("initialize", INITIALIZE | {"protocolVersion": revision}))
    assert answer.status == 200, answer.body
    assert "www-authenticate" not in answer.headers
    assert answer.headers["mcp-session-id"]
    result = json.loads(answer.frames()[-1])["result"]
    assert result["protocolVersion"] in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    if revision != "2025-09-01":
        assert result["protocolVersion"] == revision


def test_a_probe_with_server_discover_is_answered_so_that_clients_go_on(url):
    """Never 401 or 403, and an error by which a client knows to send `initialize` next."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "curl", "version": "1"},
    }
    headers = ACCEPT | {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"}
    answer = http_request(url, "POST", headers, message("server/discover", {"_meta": meta}))
    assert answer.status in (200, 400, 404), answer
    reply = json.loads(answer.frames()[-1])
    assert "www-authenticate" not in answer.headers
    if "error" in reply:
        assert reply["error"]["code"] in (-32022, -32601), reply
        assert reply["id"] == 1


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/json, text/event-stream", None])
def test_curl_without_a_session_gets_json(url, accept):
    headers = {"Content-Type": "application/json"} | ({"Accept": accept} if accept else {})
    answer = http_request(url, "POST", headers, message("tools/list"))
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"].startswith("application/json")
    assert json.loads(answer.body)["result"]["tools"]


def test_an_unknown_session_is_404_so_that_clients_start_afresh(url):
    answer = http_request(url, "POST", ACCEPT | {"Mcp-Session-Id": "made-up"}, message("tools/list"))
    assert answer.status == 404
    assert json.loads(answer.body)["error"]["code"] == -32001


def test_get_without_a_session_never_hangs(url):
    headers = {"Accept": "text/event-stream", "MCP-Protocol-Version": REVISION}
    answer = http_request(url, "GET", headers)
    assert answer.status == 405
    assert "POST" in answer.headers["allow"]


def test_delete_ends_a_session(url):
    opened = http_request(url, "POST", ACCEPT, message("initialize", INITIALIZE))
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": REVISION}
    assert http_request(url, "POST", ACCEPT | session, message("notifications/initialized", id=None)).status == 202
    assert http_request(url, "POST", ACCEPT | session, message("ping")).status == 200
    assert http_request(url, "DELETE", session).status in (200, 204)
    assert http_request(url, "POST", ACCEPT | session, message("ping")).status == 404


@pytest.mark.parametrize(
    "header, value, status",
    [
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://localhost:5173", 200),
        ("Origin", "http://127.0.0.1:9", 200),
        ("Host", "evil.example", 403),
        ("Host", "localhost:8080", 200),
    ],
)
def test_strange_origins_and_hosts_are_refused(url, header, value, status):
    assert http_request(url, "POST", ACCEPT | {header: value}, message("ping")).status == status


def test_malformed_json_is_a_parse_error(url):
    answer = http_request(url, "POST", ACCEPT, '{"jsonrpc": "2.0", "id": 1,')
    assert answer.status == 400
    assert json.loads(answer.body)["error"]["code"] == -32700


def test_health_needs_nothing_and_says_all_is_well(peers):
    peers.daemon.wait_until_ready()
    # A server that asks its clients is connected while somebody uses it.
    with peers.through("/mcp/all") as client:
        for tool in ("everything__get-tiny-image", "web__get-tiny-image", "files__list_allowed_directories"):
            assert not client.call(tool).value().get("isError"), tool
    answer = http_request(peers.daemon.base + "/health", "GET", {"Host": "anything.example"})
    assert answer.status == 200
    health = json.loads(answer.body)
    assert (health["status"], health["backends_configured"], health["backends_connected"]) == ("ok", 5, 5)


@pytest.mark.parametrize("path", ["status", "servers", "tools", "config"])
def test_the_operators_interface_is_not_on_the_network(peers, path):
    assert http_request(f"{peers.daemon.base}/api/v1/{path}", "GET").status in (401, 403, 404)
