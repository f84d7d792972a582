"""One server with everything, made with the Python SDK of either major version or with FastMCP, whichever is installed.

Usage: server.py [http|sse PORT]; without arguments on its pipes.
"""

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import anyio
from mcp import types
from mcp.shared.exceptions import UrlElicitationRequiredError
from pydantic import BaseModel

try:
    version("fastmcp-slim")
    from fastmcp import Context, FastMCP

    KIND = "fastmcp"
    server = FastMCP("matrix", instructions="Has everything.")
except PackageNotFoundError:
    if version("mcp").startswith("1."):
        from mcp.server.fastmcp import Context, FastMCP

        KIND = "first"
        server = FastMCP("matrix", instructions="Has everything.", log_level="ERROR")
    else:
        from mcp.server.mcpserver import Context, MCPServer

        KIND = "second"
        server = MCPServer("matrix", instructions="Has everything.", log_level="ERROR")

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
PAGE = "https://login.example/page"
opened: set[str] = set()


class Greeting(BaseModel):
    text: str


def prompt(text: str) -> list:
    return [types.SamplingMessage(role="user", content=types.TextContent(type="text", text=text))]


@server.tool()
def greet(name: str) -> Greeting:
    """Greets somebody."""
    return Greeting(text=f"Hello, {name}!")


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("on purpose")


@server.tool()
async def steps(context: Context) -> str:
    """Takes two steps."""
    for step in (1, 2):
        await context.report_progress(step, 2)
    return "done"


@server.tool()
async def say(context: Context) -> str:
    """Logs a line."""
    await context.session.send_log_message("warning", "a line", related_request_id=context.request_id)
    return "done"


@server.tool()
async def form(context: Context) -> str:
    """Asks who is there."""
    answer = await context.session.elicit_form("Who?", FORM, context.request_id)
    return f"{answer.action} {(answer.content or {}).get('name')}"


@server.tool()
async def page(context: Context) -> str:
    """Wants a page opened."""
    answer = await context.session.elicit_url("Log in.", PAGE, "one", context.request_id)
    return answer.action


@server.tool()
async def sample(context: Context) -> str:
    """Has the client's model write something."""
    answer = await context.session.create_message(prompt("A poem."), max_tokens=9, related_request_id=context.request_id)
    return answer.content.text


@server.tool()
async def roots(context: Context) -> str:
    """Tells the client's roots."""
    answer = await context.session.list_roots()
    return " ".join(str(root.uri) for root in answer.roots)


@server.tool()
async def withdraw(context: Context) -> str:
    """Asks who is there, and takes the question back."""
    with anyio.move_on_after(0.4):
        await context.session.elicit_form("Anybody?", FORM, context.request_id)
        return "answered"
    return "withdrawn"


@server.tool()
def visit(key: str) -> str:
    """Cannot be used before a page was opened."""
    if key in opened:
        return "visited"
    opened.add(key)
    about = {"elicitationId": "two", "mode": "url"} if KIND == "first" else {"elicitation_id": "two"}
    raise UrlElicitationRequiredError([types.ElicitRequestURLParams(message="Log in.", url=PAGE, **about)])


@server.tool()
async def wait(path: str, context: Context) -> str:
    """Waits for its end, and leaves a file where it was withdrawn."""
    try:
        await context.report_progress(1)
        await anyio.sleep(30)
    except anyio.get_cancelled_exc_class():
        Path(path).touch()
        raise
    return "over"


@server.tool()
async def add_tool(name: str, context: Context) -> str:
    """Adds a tool."""
    server.tool(name=name)(lambda: "added")
    await announced(context, types.ToolListChangedNotification, "send_tool_list_changed", "notify_tools_changed")
    return "done"


@server.tool()
async def add_prompt(name: str, context: Context) -> str:
    """Adds a prompt."""
    server.prompt(name=name)(lambda: "added")
    await announced(context, types.PromptListChangedNotification, "send_prompt_list_changed", "notify_prompts_changed")
    return "done"


@server.tool()
async def add_resource(name: str, context: Context) -> str:
    """Adds a resource."""
    server.resource(f"added://{name}", name=name)(lambda: "added")
    await announced(context, types.ResourceListChangedNotification, "send_resource_list_changed", "notify_resources_changed")
    return "done"


@server.tool()
async def touch(context: Context) -> str:
    """Says that the note has changed."""
    await context.session.send_resource_updated("note://one")
    if KIND == "second":
        await context.notify_resource_updated("note://one")
    return "done"


async def announced(context: Context, notice, classic: str, modern: str):
    """As each SDK has it: FastMCP in one way, the other for clients that shake hands and for those that do not."""
    if KIND == "fastmcp":
        await context.send_notification(notice())
        return
    await getattr(context.session, classic)()
    if KIND == "second":
        await getattr(context, modern)()


@server.resource("note://one", mime_type="text/plain")
def note() -> str:
    """A note."""
    return "a note"


@server.resource("note://of/{person}", mime_type="text/plain")
def note_of(person: str) -> str:
    """Somebody's note."""
    return f"a note of {person}"


@server.prompt()
def hello(name: str) -> str:
    """Greets."""
    return f"Say hello to {name}."


if KIND != "first":

    @server.tool()
    def ask(context: Context) -> str | types.InputRequiredResult:
        """Asks who is there, by its result."""
        if answers := context.input_responses:
            return f"Hello, {answers['who'].content['name']}!"
        question = types.ElicitRequest(params=types.ElicitRequestFormParams(message="Who?", requested_schema=FORM))
        return types.InputRequiredResult(input_requests={"who": question}, request_state="asked")


async def subscribed(*_):
    """Whoever wants to hear of the note does."""
    return types.EmptyResult()


if KIND == "first":
    server._mcp_server.subscribe_resource()(subscribed)
    server._mcp_server.unsubscribe_resource()(subscribed)
else:
    below = server._mcp_server if KIND == "fastmcp" else server._lowlevel_server
    below.add_request_handler("resources/subscribe", types.SubscribeRequestParams, subscribed)
    below.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, subscribed)


def completed(ref, argument, context):
    return types.Completion(values=[argument.value + "da"])


if KIND == "fastmcp":
    server.completion(completed)
else:

    @server.completion()
    async def complete(ref, argument, context):
        return completed(ref, argument, context)


def main(transport: str = "stdio", port: str = "0"):
    named = {"http": "streamable-http"}.get(transport, transport)
    if transport == "stdio":
        server.run("stdio", **({"show_banner": False} if KIND == "fastmcp" else {}))
    elif KIND == "first":
        server.settings.port = int(port)
        server.run(named)
    elif KIND == "fastmcp":
        server.run(named, port=int(port), show_banner=False, log_level="error")
    else:
        server.run(named, port=int(port))


main(*sys.argv[1:])
