"""One way to say it for both major versions of the official Python SDK."""

import json
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CreateMessageResult, ElicitResult, TextContent


def transport(target: dict):
    match target["transport"]:
        case "http":
            return streamable_http_client(target["url"])
        case "sse":
            return sse_client(target["url"])
        case "stdio":
            program = {name: target[name] for name in ("command", "args", "env")}
            return stdio_client(StdioServerParameters(**program))


@asynccontextmanager
async def connect(to: str | dict, **callbacks):
    """A session with a URL of Streamable HTTP, or with a target as doors.py makes it. The callbacks answer what servers ask."""
    target = {"transport": "http", "url": to} if isinstance(to, str) else to
    async with anyio.create_task_group() as leaving, AsyncExitStack() as stack:
        streams = await stack.enter_async_context(transport(target))
        # SDKs of the first major version fail if a message comes while they leave, so somebody takes it.
        stack.callback(leaving.start_soon, drain, streams[0])
        session = await stack.enter_async_context(ClientSession(streams[0].clone(), streams[1], **callbacks))
        await session.initialize()
        yield session


async def drain(stream) -> None:
    """Takes what comes until the stream is closed."""
    with suppress(anyio.ClosedResourceError):
        async for _ in stream:
            pass


def plain(model) -> dict:
    """A typed result as the JSON it stands for: the two versions name its fields differently."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def call(session: ClientSession, tool: str, arguments: dict) -> dict:
    result = plain(await session.call_tool(tool, arguments))
    assert not result.get("isError"), result
    return result


def answering(form: dict, text: str) -> tuple[dict, list[str]]:
    """Callbacks for a session that answer every form and every prompt so, and what they have been asked."""
    asked: list[str] = []

    async def fill_in(context, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content=form)

    async def say(context, params):
        [prompt] = params.messages
        asked.append(prompt.content.text)
        return CreateMessageResult(role="assistant", model="scripted", content=TextContent(type="text", text=text))

    return {"elicitation_callback": fill_in, "sampling_callback": say}, asked


async def find_and_call(session: ClientSession, wanted: str, query: str, arguments: dict) -> dict:
    """What agents do through `/mcp`: searches a tool and calls the best one as its result says."""
    with anyio.fail_after(60):
        while True:
            found = await call(session, "retrieve_tools", {"query": query})
            answer = json.loads(found["content"][0]["text"])
            best = answer["tools"][0] if answer["tools"] else {}
            if best.get("name") == wanted:
                return best | {"answer": await call(session, best["call_with"], {"name": wanted, "args": arguments})}
            # A search does not wait for servers that nobody has listed yet, but says that there are some.
            assert answer["notice"], answer


async def every_server_answers(session: ClientSession, folder) -> None:
    """One call at least to each server, through `/mcp/all`."""
    for everything in ("everything", "web"):
        echo = await call(session, f"{everything}__echo", {"message": "hallo"})
        assert echo["content"] == [{"type": "text", "text": "Echo: hallo"}]
        total = await call(session, f"{everything}__get-sum", {"a": 2, "b": 40})
        assert "42" in total["content"][0]["text"]
        weather = await call(session, f"{everything}__get-structured-content", {"location": "New York"})
        assert weather["structuredContent"] == {"temperature": 33, "conditions": "Cloudy", "humidity": 82}
    text = await call(session, "files__read_text_file", {"path": str(folder / "files" / "hello.txt")})
    assert text["content"][0]["text"] == "Grüße aus der Datei\n"
    await call(session, "memory__read_graph", {})
    now = await call(session, "time__get_current_time", {"timezone": "Europe/Berlin"})
    assert now["structuredContent"]["timezone"] == "Europe/Berlin"
