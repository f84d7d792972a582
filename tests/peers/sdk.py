"""One way to say it for both major versions of the official Python SDK."""

from contextlib import AsyncExitStack, asynccontextmanager

from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

import rig


@asynccontextmanager
async def connect(url: str):
    async with AsyncExitStack() as stack:
        streams = await stack.enter_async_context(streamable_http_client(url))
        session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
        await session.initialize()
        yield session


@asynccontextmanager
async def start(daemon: rig.Daemon, *arguments: str):
    """A session with a program of ours that the SDK starts, on this daemon's files."""
    server = StdioServerParameters(
        command=rig.BINARY,
        args=[*arguments, *daemon.arguments()],
        env={"HOME": str(daemon.home), "SHELL": "/bin/sh"},
    )
    with daemon.log.open("a") as log:
        async with stdio_client(server, errlog=log) as (reading, writing), ClientSession(reading, writing) as session:
            await session.initialize()
            yield session


def plain(model) -> dict:
    """A typed result as the JSON it stands for: the two versions name its fields differently."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def call(session: ClientSession, tool: str, arguments: dict) -> dict:
    result = plain(await session.call_tool(tool, arguments))
    assert not result.get("isError"), result
    return result


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
