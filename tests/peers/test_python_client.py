"""The newer client of the official Python SDK, which asks `server/discover` before anything else."""

import anyio
import mcp
import pytest
from mcp import StdioServerParameters

import doors
import sdk

MODERN = "2026-07-28"


def client(door, peers, mode):
    target = door.target(peers.daemon)
    server = target.get("url") or StdioServerParameters(**{name: target[name] for name in ("command", "args", "env")})
    return mcp.Client(server, mode=mode)


@pytest.mark.parametrize("door", doors.HTTP + doors.STDIO, ids=str)
@pytest.mark.parametrize("mode", ["legacy", "auto", MODERN])
def test_it_lists_and_calls(peers, door, mode):
    async def scenario():
        async with client(door, peers, mode) as session:
            assert (session.protocol_version == MODERN) == (mode != "legacy")
            door.check_list(tool.name for tool in (await session.list_tools()).tools)
            call = door.call()
            doors.check_time(sdk.plain(await session.call_tool(call["name"], call["arguments"])))

    anyio.run(scenario)


@pytest.mark.parametrize("door", [doors.HTTP[1], doors.STDIO[1]], ids=str)
def test_it_hears_of_changes_on_a_stream_of_its_own(peers, door):
    async def scenario():
        async with client(door, peers, MODERN) as session, session.listen(tools_list_changed=True) as news:
            assert news.honored.tools_list_changed
            for verb in ("disable", "enable"):
                await anyio.to_thread.run_sync(peers.daemon.cli, "upstream", verb, "memory")
                with anyio.fail_after(30):
                    await anext(aiter(news))
                    while ("memory__read_graph" in [it.name for it in (await session.list_tools()).tools]) == (verb == "disable"):
                        await anext(aiter(news))

    try:
        anyio.run(scenario)
    finally:
        peers.daemon.cli("upstream", "enable", "memory")
        peers.daemon.wait_until_ready()


def test_progress_reaches_its_callback(peers):
    async def scenario():
        async with mcp.Client(peers.daemon.base + "/mcp/server/everything", mode=MODERN) as session:
            steps = []

            async def on_progress(progress, total, message):
                steps.append((progress, total))

            arguments = {"duration": 1, "steps": 3}
            await session.call_tool("trigger-long-running-operation", arguments, progress_callback=on_progress)
            assert steps == [(1, 3), (2, 3), (3, 3)]

    anyio.run(scenario)
