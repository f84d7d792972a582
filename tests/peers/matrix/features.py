"""What a client can do with a server: each feature is done once, and gives what came of it in words that both eras share."""

import asyncio

from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from .client import ABOUT, Client, Failed

UNKNOWN, PING, WITHDRAWN = "tool that does not exist", "ping from the client", "question that the server withdraws"
BY_RESULT, FORM = "question by a result", "elicitation, a form"
FAILS, UPDATES = "call that fails", "updates of a resource"
NOTE = "note://one"
# What is added at run time begins so.
ADDED = "x_"

Record = dict
FEATURES: dict[str, Callable[[Client], Awaitable[Record]]] = {}


def feature(name: str):
    def take(does):
        FEATURES[name] = does
        return does

    return take


def said(result: dict) -> Record:
    """What a call gave. The words of an error are its writer's own."""
    if result.get("isError"):
        return {"failed": "as a result"}
    return {"text": [block.get("text", block["type"]) for block in result["content"]]}


async def tried(request: Awaitable[dict], takes=said) -> Record:
    try:
        return takes(await request)
    except Failed as failed:
        return {"failed": failed.error["code"]}


async def asked(client: Client, tool: str, **arguments) -> Record:
    """What a call gave that asks, and what the client was asked for it."""
    client.asked.clear()
    answer = await tried(client.call(tool, arguments))
    return answer | {"asked": list(client.asked)}


def key() -> str:
    return ADDED + uuid4().hex[:8]


@asynccontextmanager
async def listening(client: Client, **wanted):
    """A client without a handshake says what it wants to hear of."""
    client.heard.clear()
    if not client.is_modern:
        yield
        return
    number, task = client.start("subscriptions/listen", {"notifications": wanted})
    try:
        acknowledged = asyncio.create_task(client.hears("notifications/subscriptions/acknowledged", 5))
        await asyncio.wait([acknowledged, task], return_when=asyncio.FIRST_COMPLETED)
        acknowledged.cancel()
        yield
    finally:
        if not task.done():
            await client.withdraw(number, task)
        await asyncio.gather(task, return_exceptions=True)


@feature("name and instructions of the server")
async def introduction(client: Client) -> Record:
    about = client.introduced
    who = about.get("serverInfo") or about["_meta"][ABOUT + "serverInfo"]
    return {"name": who["name"], "instructions": about.get("instructions")}


async def listed(client: Client, method: str, of: str, name: str) -> list:
    result = await client.request(method)
    return [it for it in result[of] if not it[name].removeprefix("added://").startswith(ADDED)]


@feature("lists of tools, prompts, resources and templates")
async def lists(client: Client) -> Record:
    return {
        "tools": await listed(client, "tools/list", "tools", "name"),
        "prompts": await listed(client, "prompts/list", "prompts", "name"),
        "resources": await listed(client, "resources/list", "resources", "uri"),
        "templates": await listed(client, "resources/templates/list", "resourceTemplates", "uriTemplate"),
    }


@feature("call, with a structured result")
async def call(client: Client) -> Record:
    result = await client.call("greet", {"name": "Ada"})
    return said(result) | {"structured": result.get("structuredContent")}


@feature(FAILS)
async def failure(client: Client) -> Record:
    return await tried(client.call("fail"))


@feature(UNKNOWN)
async def unknown(client: Client) -> Record:
    return await tried(client.call("no_such_tool"))


@feature("progress")
async def progress(client: Client) -> Record:
    client.heard.clear()
    answer = await tried(client.call("steps", _meta={"progressToken": "mine"}))
    await client.hears("notifications/nothing", 0.05)
    return answer | {"heard": [it for it in client.heard if it["method"] == "notifications/progress"]}


@feature("resource, template, resource that does not exist")
async def resources(client: Client) -> Record:
    def takes(result):
        return {"contents": result["contents"]}

    uris = (NOTE, "note://of/ada", "nowhere://at/all")
    found = [await tried(client.request("resources/read", {"uri": uri}), takes) for uri in uris]
    # Which code says that there is none depends on the revision, and on the server.
    return {"read": found[:2], "unknown": "failed" in found[2]}


@feature("prompt")
async def prompt(client: Client) -> Record:
    request = client.request("prompts/get", {"name": "hello", "arguments": {"name": "Ada"}})
    return await tried(request, lambda result: {"messages": result["messages"]})


@feature("completion")
async def completion(client: Client) -> Record:
    about = {"ref": {"type": "ref/prompt", "name": "hello"}, "argument": {"name": "name", "value": "A"}}
    return await tried(client.request("completion/complete", about), lambda result: {"values": result["completion"]["values"]})


@feature("log lines")
async def log_lines(client: Client) -> Record:
    meta = {}
    if client.is_modern:
        meta = {"_meta": {ABOUT + "logLevel": "info"}}
    else:
        await tried(client.request("logging/setLevel", {"level": "info"}), lambda _: {})
    client.heard.clear()
    answer = await tried(client.call("say", **meta))
    return answer | {"heard": await client.hears("notifications/message", 1)}


@feature(FORM)
async def form(client: Client) -> Record:
    return await asked(client, "form")


@feature("elicitation, a page")
async def page(client: Client) -> Record:
    return await asked(client, "page")


@feature("sampling")
async def sample(client: Client) -> Record:
    return await asked(client, "sample")


@feature("roots")
async def roots(client: Client) -> Record:
    return await asked(client, "roots")


@feature(BY_RESULT)
async def ask(client: Client) -> Record:
    return await asked(client, "ask")


@feature("page wanted first (-32042)")
async def visit(client: Client) -> Record:
    one = key()
    client.asked.clear()
    try:
        answer = said(await client.call("visit", {"key": one}))
    except Failed as failed:
        for wanted in (failed.error.get("data") or {}).get("elicitations", ()):
            client.answer({"method": "elicitation/create", "params": wanted})
        answer = await tried(client.call("visit", {"key": one}))
    return answer | {"asked": list(client.asked)}


@feature(WITHDRAWN)
async def withdraw(client: Client) -> Record:
    client.asked.clear()
    client.heard.clear()
    client.is_silent = True
    try:
        answer = await tried(client.call("withdraw"))
        heard = await client.hears("notifications/cancelled", 1)
    finally:
        client.is_silent = False
    return answer | {"asked": list(client.asked), "heard": heard}


@feature(UPDATES)
async def updates(client: Client) -> Record:
    if not client.is_modern:
        await tried(client.request("resources/subscribe", {"uri": NOTE}), lambda _: {})
    async with listening(client, resourceSubscriptions=[NOTE]):
        answer = await tried(client.call("touch"))
        heard = await client.hears("notifications/resources/updated")
    return answer | {"heard": heard}


async def changed(client: Client, kind: str, method: str, filter: str, field: str, use) -> Record:
    """Something is added at run time: heard of, listed, used."""
    name = key()
    async with listening(client, **{filter: True}):
        answer = await tried(client.call(f"add_{kind}", {"name": name}))
        # The daemon reads a server that changes all the time less often on a busy machine.
        heard = await client.hears(f"notifications/{kind}s/list_changed", 20)
        # What it heard of may have been somebody else's, a moment before.
        for _ in range(10):
            result = await client.request(method)
            is_listed = any(it[field].removeprefix("added://") == name for it in result[f"{kind}s"])
            if is_listed:
                break
            await asyncio.sleep(0.1)
        used = await tried(*use(name))
    return answer | {"heard": heard, "listed": is_listed, "used": used}


@feature("tool added at run time")
async def added_tool(client: Client) -> Record:
    return await changed(client, "tool", "tools/list", "toolsListChanged", "name", lambda name: [client.call(name)])


@feature("prompt added at run time")
async def added_prompt(client: Client) -> Record:
    def use(name):
        return client.request("prompts/get", {"name": name}), lambda result: {"messages": result["messages"]}

    return await changed(client, "prompt", "prompts/list", "promptsListChanged", "name", use)


@feature("resource added at run time")
async def added_resource(client: Client) -> Record:
    def use(name):
        request = client.request("resources/read", {"uri": f"added://{name}"})
        return request, lambda result: {"text": [it["text"] for it in result["contents"]]}

    return await changed(client, "resource", "resources/list", "resourcesListChanged", "uri", use)


@feature(PING)
async def ping(client: Client) -> Record:
    return await tried(client.request("ping"), lambda _: {})


@feature("call that the client withdraws")
async def cancel(client: Client) -> Record:
    # The last that is done: over HTTP without a session it ends the connection.
    with TemporaryDirectory() as folder:
        mark = Path(folder) / "withdrawn"
        client.heard.clear()
        about = {"name": "wait", "arguments": {"path": str(mark)}, "_meta": {"progressToken": "waits"}}
        number, task = client.start("tools/call", about)
        began = await client.hears("notifications/progress", 5)
        await client.withdraw(number, task)
        await asyncio.gather(task, return_exceptions=True)
        for _ in range(100):
            if mark.exists():
                break
            await asyncio.sleep(0.05)
        return {"began": began, "withdrawn": mark.exists()}
