"""An agent behind the daemon, for the suite's scenarios about clients: `client.py URL`.

The daemon gets the URL as its only server. Then everything that the server offers is listed, called, read and answered once
through the daemon, in the era that the suite wants to see.
"""

import base64
import http.client
import itertools
import json
import os
import re
import socket
import sys
import tempfile
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

import processes

REVISION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "2025-11-25")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
CAPABILITIES = {"sampling": {}, "elicitation": {}, "roots": {}}
CLIENT = {"name": "conformance-agent", "version": "1.0.0"}

# What requests of the modern era say of themselves in a header.
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

# One value of each type.
SAMPLES = {"string": "text", "number": 1.5, "integer": 1, "boolean": True, "array": [], "object": {}, "null": None}


# The document that describes us to authorization servers that read such; the suite serves none and knows this address.
DOCUMENT = "https://conformance-test.local/client-metadata.json"

# A person gives up after so many logins that bring nothing.
LOGINS = 3


class Refused(Exception):
    """A JSON-RPC error."""


class Person:
    """Somebody at the daemon's machine who logs in when a server wants it, and agrees to everything."""

    def __init__(self, data: Path):
        self.socket = data / "mcpproxy.sock"
        self.logins = 0

    def log_in(self) -> bool:
        """Whether it was worth it."""
        self.logins += 1
        if self.logins > LOGINS:
            return False
        status, begun = self.rest("POST", "login")
        if status != 200:
            print(f"login refused: {begun}", file=sys.stderr)
            return False
        page = visit(visit(begun["url"]))
        print(f"login: {page}", file=sys.stderr)
        _, progress = self.rest("GET", "login?wait=20")
        # The daemon connects anew by itself; asking for it makes it wait for that.
        self.rest("POST", "restart")
        return progress["state"] == "done"

    def rest(self, method: str, verb: str) -> tuple[int, dict]:
        connection = http.client.HTTPConnection("mcpproxy", timeout=60)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.connect(str(self.socket))
        connection.request(method, f"/api/v1/servers/it/{verb}", headers={"Content-Length": "0"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())


class Stay(HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def visit(url: str) -> str:
    """Where a browser is sent from this address, or what it shows."""
    try:
        with build_opener(Stay).open(url, timeout=60) as response:
            return response.read().decode()
    except HTTPError as answer:
        return answer.headers.get("Location") or answer.read().decode()


class Agent:
    """A client of the daemon."""

    def __init__(self, url: str, person: Person):
        self.person = person
        parts = urlsplit(url)
        self.address, self.path = parts.netloc, parts.path
        self.session: str | None = None
        self.numbers = itertools.count(1)
        # Tool -> argument -> the header that repeats it.
        self.headers: dict[str, dict[str, str]] = {}

    def request(self, method: str, **params) -> dict:
        """A result, after all questions have been answered in the way of the era, and after logins."""
        while True:
            try:
                result = self.ask(method, params)
            except Refused as refused:
                if "login_required" in str(refused) and self.person.log_in():
                    continue
                raise
            if result.get("isError") and "login_required" in json.dumps(result) and self.person.log_in():
                continue
            if result.get("resultType") != "input_required":
                return result
            params |= {"inputResponses": {key: answer(question) for key, question in result["inputRequests"].items()}}
            params.pop("requestState", None)
            if "requestState" in result:
                params["requestState"] = result["requestState"]

    def ask(self, method: str, params: dict) -> dict:
        number = next(self.numbers)
        headers = {}
        if self.is_modern():
            meta = {"protocolVersion": REVISION, "clientInfo": CLIENT, "clientCapabilities": CAPABILITIES}
            params = params | {"_meta": {f"io.modelcontextprotocol/{key}": value for key, value in meta.items()}}
            headers["Mcp-Method"] = method
            if method in NAMES:
                headers["Mcp-Name"] = plain(params[NAMES[method]])
            for argument, header in self.headers.get(params.get("name"), {}).items():
                if (value := params.get("arguments", {}).get(argument)) is not None:
                    headers[f"Mcp-Param-{header}"] = plain(value)
        for message in self.post({"id": number, "method": method, "params": params}, headers):
            if "method" in message and "id" in message:
                self.note({"id": message["id"], "result": answer(message)})
            elif message.get("id") == number:
                if "error" in message:
                    raise Refused(f"{method}: {message['error']}")
                return message["result"]
        raise Refused(f"{method}: the answer ended early")

    def note(self, message: dict) -> None:
        for _ in self.post(message, {}):
            pass

    def post(self, message: dict, headers: dict):
        """Sends a message, and gives what comes back one by one."""
        headers = headers | {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if message.get("method") != "initialize":
            headers["MCP-Protocol-Version"] = REVISION
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.request("POST", self.path, json.dumps({"jsonrpc": "2.0"} | message), headers)
        response = connection.getresponse()
        self.session = response.headers.get("Mcp-Session-Id", self.session)
        if response.headers.get_content_type() == "text/event-stream":
            for line in response:
                if line.startswith(b"data:") and (data := line[5:].strip()):
                    yield json.loads(data)
        elif body := response.read():
            yield json.loads(body)
        connection.close()

    def is_modern(self) -> bool:
        return REVISION >= "2026"

    def open(self) -> dict:
        """The server's capabilities."""
        if self.is_modern():
            return self.request("server/discover")["capabilities"]
        opened = self.request(
            "initialize", protocolVersion=REVISION, capabilities=CAPABILITIES, clientInfo=CLIENT
        )
        self.note({"method": "notifications/initialized"})
        return opened["capabilities"]


def plain(value) -> str:
    """A value as a header has it: encoded unless it is visible ASCII without outer blanks."""
    text = value if isinstance(value, str) else json.dumps(value)
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def answer(question: dict) -> dict:
    """What a user and a model would say who agree to everything."""
    params = question.get("params", {})
    if question["method"] == "sampling/createMessage":
        return {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "none", "stopReason": "endTurn"}
    if question["method"] == "roots/list":
        return {"roots": []}
    return {"action": "accept", "content": sample(params.get("requestedSchema", {}))}


def sample(schema: dict) -> dict:
    """An object with all properties, each with its default if it has one."""

    def value(one: dict):
        return one.get("default", one.get("enum", [SAMPLES.get(one.get("type"))])[0])

    return {name: value(one) for name, one in schema.get("properties", {}).items()}


def use_everything(agent: Agent) -> None:
    try:
        capabilities = agent.open()
    except Refused:
        # A server may refuse the daemon's first try on purpose. Asking again makes it connect anew.
        capabilities = agent.open()
    # Who declares nothing may offer tools all the same.
    tools = agent.request("tools/list")["tools"]
    schemas = {tool["name"]: tool["inputSchema"] for tool in tools}
    for name, schema in schemas.items():
        properties = schema.get("properties", {}).items()
        # What cannot be a header is left out: the daemon should not have shown it.
        agent.headers[name] = {
            key: header for key, one in properties if re.fullmatch(r"[!-9;-~]+", header := str(one.get("x-mcp-header", "")))
        }
    calls = CONTEXT.get("toolCalls") or [{"name": name, "arguments": sample(schemas[name])} for name in schemas]
    for call in calls:
        # A tool that wants to see a schema is shown the richest.
        if "schema" in call["arguments"]:
            call["arguments"]["schema"] = max(schemas.values(), key=len)
        attempt(agent, "tools/call", **call)
    if "prompts" in capabilities:
        for prompt in agent.request("prompts/list")["prompts"]:
            attempt(agent, "prompts/get", name=prompt["name"])
    if "resources" in capabilities:
        for resource in agent.request("resources/list")["resources"]:
            attempt(agent, "resources/read", uri=resource["uri"])


def attempt(agent: Agent, method: str, **params) -> None:
    """One that fails does not keep the others from being tried."""
    try:
        agent.request(method, **params)
    except Refused as refused:
        print(refused, file=sys.stderr)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            entry = {"type": "http", "url": sys.argv[1]}
            if os.environ.get("MCP_CONFORMANCE_SCENARIO", "").startswith("auth/"):
                client = {key: CONTEXT[key] for key in ("client_id", "client_secret") if key in CONTEXT}
                entry["oauth"] = client or {"client_id": DOCUMENT}
            with processes.daemon_before({"it": entry}, folder) as base:
                use_everything(Agent(f"{base}/mcp/server/it", Person(folder / "data")))
        finally:
            print((folder / "daemon.log").read_text(), file=sys.stderr)


if __name__ == "__main__":
    main()
