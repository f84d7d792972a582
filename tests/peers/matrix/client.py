"""A client of any revision over any transport, which answers what it is asked and keeps what it hears.

In both eras it notes the same things: what it was asked, and what came before an answer and beside it. So two visits can be compared,
whatever was between client and server.
"""

import asyncio
import itertools
import json
import os
import signal
from contextlib import suppress
from urllib.parse import urljoin

import httpx2

MODERN = "2026-07-28"
DEADLINE = 60
ABOUT = "io.modelcontextprotocol/"
ANSWERS = {
    "elicitation/create": {"action": "accept", "content": {"name": "Ada"}},
    "sampling/createMessage": {"role": "assistant", "model": "none", "content": {"type": "text", "text": "roses are red"}},
    "roots/list": {"roots": [{"uri": "file:///tmp/matrix"}]},
}


def capabilities(revision: str) -> dict:
    """All that a client of this revision can have."""
    able = {"sampling": {}, "roots": {"listChanged": True}}
    if revision >= "2025-11-25":
        return able | {"elicitation": {"form": {}, "url": {}}}
    return able | ({"elicitation": {}} if revision >= "2025-06-18" else {})


class Failed(Exception):
    """A request that was answered with an error."""

    def __init__(self, error: dict):
        super().__init__(json.dumps(error))
        self.error = error


class Client:
    """What the transports share. `async with` opens it, and leaves nothing behind."""

    def __init__(self, revision: str, able: dict | None = None):
        self.revision = revision
        self.able = capabilities(revision) if able is None else able
        self.ids = itertools.count(1)
        self.waiting: dict[int, asyncio.Future] = {}
        self.asked: list[dict] = []
        self.heard: list[dict] = []
        self.news = asyncio.Event()
        self.tasks: set[asyncio.Task] = set()
        self.introduced: dict = {}
        # What every request says where nothing was agreed, and the level of log lines that it wants.
        self.meta: dict = {}
        # Whether questions are left open, for servers that take them back.
        self.is_silent = False
        self.open_questions: dict = {}

    @property
    def is_modern(self) -> bool:
        return self.revision == MODERN

    async def __aenter__(self):
        await self.connect()
        who = {"name": "matrix", "version": "1"}
        try:
            if self.is_modern:
                about = {"protocolVersion": self.revision, "clientInfo": who, "clientCapabilities": self.able}
                self.meta = {ABOUT + name: value for name, value in about.items()}
                self.introduced = await self.request("server/discover")
            else:
                about = {"protocolVersion": self.revision, "capabilities": self.able, "clientInfo": who}
                self.introduced = await self.request("initialize", about)
                await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
                await self.agreed()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_):
        await self.close()

    def spawn(self, work) -> asyncio.Task:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def close(self):
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.disconnect()

    async def agreed(self):
        """The handshake is over."""

    def start(self, method: str, params: dict | None = None) -> tuple[int, asyncio.Task]:
        """Sends a request; its answer is that of the task."""
        number = next(self.ids)
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        params = dict(params or {})
        if self.meta:
            params["_meta"] = params.get("_meta", {}) | self.meta
        if params:
            message["params"] = params
        answer = self.waiting[number] = asyncio.get_running_loop().create_future()

        async def exchange():
            sending = self.spawn(self.send(message))
            try:
                await asyncio.wait([answer, sending], return_when=asyncio.FIRST_COMPLETED, timeout=DEADLINE)
                if sending.done() and not answer.done():
                    sending.result()
                reply = await asyncio.wait_for(answer, DEADLINE)
            finally:
                self.waiting.pop(number, None)
                self.over(sending)
            if "error" in reply:
                raise Failed(reply["error"])
            return reply["result"]

        return number, self.spawn(exchange())

    def over(self, sending: asyncio.Task):
        """The request has its answer, or nobody waits for that any more."""

    async def request(self, method: str, params: dict | None = None) -> dict:
        """The answer to a request; in between it answers what it is asked by results."""
        for _ in range(5):
            result = await self.start(method, params)[1]
            if result.get("resultType") != "input_required":
                return result
            answers = {}
            for key, question in (result.get("inputRequests") or {}).items():
                outcome = self.answer(question)
                if "error" in outcome:
                    raise Failed(outcome["error"])
                answers[key] = outcome["result"]
            params = dict(params or {}) | {"inputResponses": answers}
            params.pop("requestState", None)
            if "requestState" in result:
                params["requestState"] = result["requestState"]
        raise AssertionError("it asks for ever")

    async def call(self, tool: str, arguments: dict | None = None, **more) -> dict:
        return await self.request("tools/call", {"name": tool, "arguments": arguments or {}, **more})

    async def notify(self, method: str, params: dict):
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, question: dict) -> dict:
        method, params = question["method"], question.get("params") or {}
        name = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}[method]
        able = self.able.get(name)
        pages = params.get("mode") == "url"
        if able is None or (pages and "url" not in able):
            return {"error": {"code": -32601, "message": f"not declared: {name}"}}
        # Only the era with a handshake names the page's visit.
        kept = {name: value for name, value in params.items() if name not in ("_meta", "mode", "elicitationId")}
        self.asked.append({"method": method} | kept)
        return {"result": {"action": "accept"} if pages else ANSWERS[method]}

    def received(self, message: dict):
        if "method" not in message:
            waiting = self.waiting.get(message.get("id"))
            # Who cannot tell which request it refuses says `null`.
            if waiting is None and message.get("id") is None and self.waiting:
                waiting = self.waiting[max(self.waiting)]
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        elif "id" not in message:
            self.hear(message)
        elif message["method"] == "ping":
            self.spawn(self.send({"jsonrpc": "2.0", "id": message["id"], "result": {}}))
        elif self.is_silent and "elicitation" in self.able:
            self.open_questions[message["id"]] = message["method"]
            self.asked.append({"method": message["method"], "message": message["params"].get("message")})
        else:
            self.spawn(self.send({"jsonrpc": "2.0", "id": message["id"]} | self.answer(message)))

    def hear(self, message: dict):
        params = dict(message.get("params") or {})
        params.pop("_meta", None)
        if message["method"] == "notifications/cancelled":
            # Which question it was; the number is the connection's own affair.
            params = {"of": self.open_questions.get(params.get("requestId"))}
        self.heard.append({"method": message["method"]} | ({"params": params} if params else {}))
        self.news.set()

    async def hears(self, method: str, seconds: float = 2) -> bool:
        """Whether a notice of this method comes, or has come since the last time."""

        async def comes():
            while not any(notice["method"] == method for notice in self.heard):
                self.news.clear()
                await self.news.wait()

        with suppress(TimeoutError):
            await asyncio.wait_for(comes(), seconds)
        found = [notice for notice in self.heard if notice["method"] == method]
        self.heard = [notice for notice in self.heard if notice["method"] != method]
        return bool(found)


class Pipe(Client):
    def __init__(self, command: list[str], revision: str, env: dict | None = None, able: dict | None = None):
        super().__init__(revision, able)
        self.command, self.env = command, env

    async def connect(self):
        self.process = await asyncio.create_subprocess_exec(
            *self.command,
            env=os.environ | (self.env or {}),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=1 << 24,
            start_new_session=True,
        )
        self.spawn(self.read())

    async def read(self):
        async for line in self.process.stdout:
            if line.lstrip().startswith(b"{"):
                self.received(json.loads(line))

    async def send(self, message: dict):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        await self.process.stdin.drain()

    async def withdraw(self, number: int, task: asyncio.Task):
        await self.notify("notifications/cancelled", {"requestId": number} | ({"_meta": self.meta} if self.meta else {}))
        task.cancel()

    async def disconnect(self):
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), 2)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.wait()


async def events(response):
    """The events of a stream that carry something: kind and data."""
    kind, data = "message", []
    async for line in response.aiter_lines():
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            kind = value
        elif field == "data" and value:
            data.append(value)
        elif not line and data:
            yield kind, "\n".join(data)
            kind, data = "message", []


class Http(Client):
    """Streamable HTTP."""

    def __init__(self, url: str, revision: str, able: dict | None = None):
        super().__init__(revision, able)
        self.url = url
        self.session: str | None = None

    async def connect(self):
        timeout = httpx2.Timeout(DEADLINE, read=None)
        self.http = httpx2.AsyncClient(timeout=timeout, trust_env=False)
        # Without a session it is told from others by its connection: all that ends goes over one, as a careful client has it.
        one = httpx2.Limits(max_connections=1, keepalive_expiry=None)
        self.calls = httpx2.AsyncClient(timeout=timeout, trust_env=False, limits=one) if self.is_modern else self.http

    async def agreed(self):
        if self.session:
            opened = asyncio.Event()
            self.spawn(self.listen(opened))
            await asyncio.wait_for(opened.wait(), DEADLINE)

    async def listen(self, opened: asyncio.Event):
        headers = self.headers({}) | {"Accept": "text/event-stream"}
        async with self.http.stream("GET", self.url, headers=headers) as response:
            opened.set()
            if response.status_code == 200:
                await self.take(response)

    def headers(self, message: dict) -> dict:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers |= {"Mcp-Session-Id": self.session}
        # What has to be sent in the era with a handshake came with its second revision that has this transport.
        if self.is_modern or (self.introduced and self.revision >= "2025-06-18"):
            headers |= {"MCP-Protocol-Version": self.introduced.get("protocolVersion", self.revision)}
        if self.is_modern:
            params = message.get("params", {})
            headers |= {"Mcp-Method": message["method"]}
            headers |= {"Mcp-Name": params[name] for name in ("name", "uri") if name in params}
        return headers

    async def send(self, message: dict):
        http = self.http if message.get("method") == "subscriptions/listen" else self.calls
        async with http.stream("POST", self.url, headers=self.headers(message), json=message) as response:
            self.session = self.session or response.headers.get("mcp-session-id")
            await self.take(response)

    async def take(self, response):
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            async for _, data in events(response):
                self.received(json.loads(data))
        elif body := (await response.aread()).strip():
            try:
                message = json.loads(body)
            except ValueError:
                message = {}
            if "jsonrpc" not in message and response.status_code >= 400:
                message = {"id": None, "error": {"code": response.status_code, "message": body.decode()}}
            self.received(message)
        elif response.status_code >= 400:
            self.received({"id": None, "error": {"code": response.status_code, "message": ""}})

    async def withdraw(self, number: int, task: asyncio.Task):
        if not self.is_modern:
            await self.notify("notifications/cancelled", {"requestId": number})
        task.cancel()

    def over(self, sending: asyncio.Task):
        if self.is_modern:
            # A response that is closed is a request that is withdrawn.
            sending.cancel()

    async def disconnect(self):
        if self.session:
            with suppress(httpx2.HTTPError):
                await self.http.delete(self.url, headers=self.headers({}))
        await self.calls.aclose()
        await self.http.aclose()


class Sse(Client):
    """HTTP+SSE."""

    def __init__(self, url: str, revision: str, able: dict | None = None):
        super().__init__(revision, able)
        self.url = url

    async def connect(self):
        self.http = httpx2.AsyncClient(timeout=httpx2.Timeout(DEADLINE, read=None), trust_env=False)
        self.address = asyncio.get_running_loop().create_future()
        self.spawn(self.read())
        await asyncio.wait_for(asyncio.shield(self.address), DEADLINE)

    async def read(self):
        async with self.http.stream("GET", self.url, headers={"Accept": "text/event-stream"}) as response:
            async for kind, data in events(response):
                if kind == "endpoint":
                    self.address.set_result(urljoin(self.url, data))
                else:
                    self.received(json.loads(data))

    async def send(self, message: dict):
        (await self.http.post(self.address.result(), json=message)).raise_for_status()

    async def withdraw(self, number: int, task: asyncio.Task):
        await self.notify("notifications/cancelled", {"requestId": number})
        task.cancel()

    async def disconnect(self):
        await self.http.aclose()
