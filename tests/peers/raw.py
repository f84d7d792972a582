"""MCP spoken by hand: requests and answers as the bytes on the wire, over a pipe, Streamable HTTP or HTTP+SSE, in both eras.

Nothing here parses a result before a test asks for it, so that two answers can be compared byte for byte.
"""

import http.client
import json
import os
import queue
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

DEADLINE = 60
REVISION = "2025-06-18"
# The first revision without a handshake.
MODERN = "2026-07-28"
ERAS = [REVISION, MODERN]


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
        # Who cannot tell which request it refuses says `null`.
        elif parts.get("id") == str(wanted_id) or (parts.get("id") == "null" and "error" in parts):
            return Reply(parts.get("result"), parts.get("error"), notices)
    return None


class Client:
    """What the transports share: the handshake, or what stands in its place, and the numbering of requests."""

    def __init__(self):
        self.last_id = 0
        self.revision = REVISION
        # What a request says about its client where no handshake did.
        self.meta: dict = {}
        # The answer to `initialize`, or to `server/discover`.
        self.introduced: Reply | None = None

    def open(self, capabilities: dict | None = None, revision: str = REVISION):
        assert self.introduce(capabilities, revision).error is None, self.introduced.error
        return self

    def introduce(self, capabilities: dict | None, revision: str) -> Reply:
        client = {"name": "peers", "version": "1"}
        self.revision = revision
        if revision == MODERN:
            about = {"protocolVersion": revision, "clientInfo": client, "clientCapabilities": capabilities or {}}
            self.meta = {f"io.modelcontextprotocol/{name}": value for name, value in about.items()}
            self.introduced = self.request("server/discover")
        else:
            about = {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": client}
            self.introduced = self.request("initialize", about)
            self.notify("notifications/initialized")
        return self.introduced

    def request(self, method: str, params: dict | None = None) -> Reply:
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method}
        if self.meta:
            params = (params or {}) | {"_meta": (params or {}).get("_meta", {}) | self.meta}
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
            # npx has children of its own.
            start_new_session=True,
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
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
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
        connection.request(method, parts._replace(scheme="", netloc="").geturl() or "/", body and body.encode(), headers or {})
        answer = connection.getresponse()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return HttpAnswer(answer.status, names, answer.read().decode())
    finally:
        connection.close()


class HttpClient(Client):
    """Streamable HTTP: a session, or requests that speak for themselves."""

    def __init__(self, url: str):
        super().__init__()
        self.url = url
        self.session: str | None = None

    def headers(self, frame: str | None = None) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": REVISION}
        if self.meta:
            message = json.loads(frame)
            of = message["params"]
            headers |= {"MCP-Protocol-Version": self.revision, "Mcp-Method": message["method"]}
            headers |= {"Mcp-Name": of[name] for name in ("name", "uri") if name in of}
        return headers

    def _send(self, frame: str) -> HttpAnswer:
        answer = http_request(self.url, "POST", self.headers(frame), frame)
        # Without a handshake, an error of the protocol is one of HTTP as well.
        assert self.meta or answer.status in (200, 202), f"{answer.status} {answer.body}"
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


class SseClient(Client):
    """HTTP+SSE: one stream of events, and an address to post to that it names first."""

    def __init__(self, url: str):
        super().__init__()
        parts = urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=DEADLINE)
        self.connection.request("GET", parts.path, headers={"Accept": "text/event-stream"})
        self.events = self.connection.getresponse()
        kind, address = self._event()
        assert (self.events.status, kind) == (200, "endpoint"), address
        self.address = urljoin(url, address)

    def _event(self) -> tuple[str, str]:
        """The next event that carries something: its kind and its data."""
        kind, data = "message", []
        while line := self.events.readline():
            field, _, value = line.decode().rstrip("\r\n").partition(":")
            match field:
                case "event":
                    kind = value.removeprefix(" ")
                case "data":
                    data.append(value.removeprefix(" "))
                case "" if data:
                    return kind, "\n".join(data)
        raise AssertionError("the stream ended")

    def _send(self, frame: str):
        answer = http_request(self.address, "POST", {"Content-Type": "application/json"}, frame)
        assert answer.status == 202, answer

    def _exchange(self, frame: str, wanted_id: int) -> Reply:
        self._send(frame)
        frames = []
        while (reply := _reply(frames, wanted_id)) is None:
            frames.append(self._event()[1])
        return reply

    def close(self):
        self.connection.close()
