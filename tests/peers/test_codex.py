"""Codex through its app server, which lists and calls tools without a model or an account."""

import json

import pytest

import clients
import doors
import tap

# No model is asked for anything: its address is one where nobody answers.
SETTINGS = """
check_for_update_on_startup = false
model_provider = "nobody"

[analytics]
enabled = false

[model_providers.nobody]
name = "nobody"
base_url = "http://127.0.0.1:9/v1"

[mcp_servers.mcpproxy]
"""


class AppServer:
    """`codex app-server`: requests and answers, a line for each, on its pipes."""

    def __init__(self, home, entry: dict):
        # A JSON string, or array of strings, is one in TOML as well.
        lines = [f"{key} = {json.dumps(entry[key])}\n" for key in ("url", "command", "args") if key in entry]
        home.write(".codex/config.toml", SETTINGS + "".join(lines))
        self.home = home
        self.last_id = 0

    def __enter__(self):
        self.process = self.home.start(*clients.CODEX, "app-server")
        self.request("initialize", {"clientInfo": {"name": "peers", "version": "1"}})
        self.send({"method": "initialized"})
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        finally:
            self.process.kill()
            self.process.wait()

    def send(self, message: dict):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method: str, params: dict):
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.last_id:
                assert "error" not in message, message
                return message["result"]
        raise AssertionError(f"it ended before it answered {method}{self.home.logs()}")

    def status(self) -> dict:
        [status] = self.request("mcpServerStatus/list", {})["data"]
        assert status["name"] == "mcpproxy"
        assert not status.get("toolsError"), status
        return status

    def call(self, call: dict) -> dict:
        thread = self.request("thread/start", {})["thread"]["id"]
        asked = {"threadId": thread, "server": "mcpproxy", "tool": call["name"], "arguments": call["arguments"]}
        return self.request("mcpServer/tool/call", asked)


@pytest.mark.parametrize("door", [doors.HTTP[0], doors.STDIO[1], doors.HTTP[2]], ids=str)
def test_it_lists_and_calls(peers, home, door):
    target = door.target(peers.daemon)
    with AppServer(home, target) as codex:
        status = codex.status()
        door.check_list(tool["name"] for tool in status["tools"].values())
        assert status["authStatus"] == "unsupported"
        doors.check_time(codex.call(door.call()))


def test_it_is_never_told_to_log_in(peers, home):
    """It looks for a login of the server before it says anything: everywhere, and on the endpoint itself."""
    with tap.Tap(peers.daemon.port) as tapped, AppServer(home, {"url": tapped.base + "/mcp"}) as codex:
        codex.status()
    for seen in tapped.seen:
        assert seen.status in (200, 202, 204, 404, 405), seen
        assert "www-authenticate" not in seen.answered, seen
    looked = {seen.path: seen for seen in tapped.seen if "well-known" in seen.path}
    assert "/.well-known/oauth-protected-resource" in looked
    for seen in looked.values():
        assert seen.status == 404
        assert seen.answered["content-type"].startswith("application/json")
