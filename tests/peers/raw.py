"""MCP spoken by hand: requests and answers as the bytes on the wire, over a pipe or Streamable HTTP.

Nothing here parses a result before a test asks for it, so that two answers can be compared byte for byte.
"""

import http.client
import json
import os
import queue
import subprocess
import threading
from dataclasses import dataclass, field
from urllib.parse import urlsplit

DEADLINE = 60
REVISION = "2025-06-18"


def members(text: str) -> dict[str, str]:
    """The members of a JSON object, each value exactly as it was written."""
    decoder, at, found = json.JSONDecoder(), 0, {}

    def skip(at: int, extra: str = "") -> int:
        while at < len(text) and text[at] in " \t\r\n" + extra:
            at += 1
        return at

    at = skip(text.index("{") + 1)
    while text[at] != "}":
        name, at = decoder.raw_decode(text, at)
        start = skip(at, ":")
        _, at = decoder.raw_decode(text, start)
        found[name] = text[start:at]
        at = skip(at, ",")
    return found


def elements(text: str) -> list[str]:
    """The elements of a JSON array, each exactly as it was written."""
    decoder, found = json.JSONDecoder(), []
    at = text.index("[") + 1
    while True:
        while text[at] in " \t\r\n,":
            at += 1
        if text[at] == "]":
            return found
        start = at
        _, at = decoder.raw_decode(text, start)
        found.append(text[start:at])


@dataclass
class Reply:
    """One answered request: the raw `result` or the raw `error`, and the notifications before it."""

    result: str | None
    error: str | None
    notices: list[dict] = field(default_factory=list)

    def value(self):
        assert self.error is None, self.error
        return json.loads(self.result)


def _reply(frames: list[str], wanted_id: int) -> Reply | None:
    notices = []
    for frame in frames:
        parts = members(frame)
        if "method" in parts:
            notices.append(json.loads(frame))
        elif parts.get("id") == str(wanted_id):
            return Reply(parts.get("result"), parts.get("error"), notices)
    return None


class Client:
    """What both transports share: the handshake and the numbering of requests."""

    def __init__(self):
        self.last_id = 0
        self.initialized: Reply | None = None

    def open(self, capabilities: dict | None = None, revision: str = REVISION):
        client = {"name": "peers", "version": "1"}
        self.initialized = self.request(
            "initialize",
            {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": client},
        )
        assert self.initialized.error is None, self.initialized.error
        self.notify("notifications/initialized")
        return self

    def request(self, method: str, params: dict | None = None) -> Reply:
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method}
        if params is not None:
            message["params"] = params
        return self._exchange(json.dumps(message), self.last_id)

    def notify(self, method: str):
        self._send(json.dumps({"jsonrpc": "2.0", "method": method}))

    def call(self, tool: str, arguments: dict | None = None, **params) -> Reply:
        return self.request("tools/call", {"name": tool, "arguments": arguments or {}, **params})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class StdioClient(Client):
    """A server of our own, at the other end of a pipe."""

    def __init__(self, command: str, args: list[str], env: dict[str, str] | None = None):
        super().__init__()
        self.process = subprocess.Popen(
            [command, *args],
            env=os.environ | (env or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def _send(self, frame: str):
        self.process.stdin.write(frame + "\n")
        self.process.stdin.flush()

    def _exchange(self, frame: str, wanted_id: int) -> Reply:
        self._send(frame)
        frames = []
        while True:
            line = self.lines.get(timeout=DEADLINE)
            if line.startswith("{"):
                frames.append(line)
            if (reply := _reply(frames, wanted_id)) is not None:
                return reply

    def close(self):
        # Some of these servers take no notice of the end of their input.
        self.process.kill()
        self.process.wait()


@dataclass
class HttpAnswer:
    """One HTTP answer, unread by anybody."""

    status: int
    headers: dict[str, str]
    body: str

    def frames(self) -> list[str]:
        """The JSON-RPC messages of a JSON body or of an event stream."""
        if not self.headers.get("content-type", "").startswith("text/event-stream"):
            return [self.body] if self.body.strip() else []
        frames = []
        for event in self.body.replace("\r\n", "\n").split("\n\n"):
            data = [line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:")]
            if any(data):
                frames.append("\n".join(data))
        return frames


def http_request(url: str, method: str, headers: dict[str, str] | None = None, body: str | None = None) -> HttpAnswer:
    """One request on a connection of its own, exactly as given."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=DEADLINE)
    try:
        connection.request(method, parts.path or "/", body and body.encode(), headers or {})
        answer = connection.getresponse()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return HttpAnswer(answer.status, names, answer.read().decode())
    finally:
        connection.close()


class HttpClient(Client):
    """One Streamable HTTP session."""

    def __init__(self, url: str):
        super().__init__()
        self.url = url
        self.session: str | None = None

    def headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": REVISION}
        return headers

    def _send(self, frame: str) -> HttpAnswer:
        answer = http_request(self.url, "POST", self.headers(), frame)
        assert answer.status in (200, 202), f"{answer.status} {answer.body}"
        self.session = self.session or answer.headers.get("mcp-session-id")
        return answer

    def _exchange(self, frame: str, wanted_id: int) -> Reply:
        answer = self._send(frame)
        reply = _reply(answer.frames(), wanted_id)
        assert reply is not None, f"no answer to {frame} in {answer}"
        return reply

    def close(self):
        if self.session:
            http_request(self.url, "DELETE", self.headers())
