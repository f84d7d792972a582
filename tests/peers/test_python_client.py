"""The newer client of the official Python SDK, which asks `server/discover` before anything else."""

import anyio
import mcp
import pytest

import doors
import sdk


@pytest.mark.parametrize("door", doors.HTTP, ids=str)
def test_it_lists_and_calls(peers, door):
    async def scenario():
        async with mcp.Client(door.target(peers.daemon)["url"]) as client:
            door.check_list(tool.name for tool in (await client.list_tools()).tools)
            call = door.call()
            doors.check_time(sdk.plain(await client.call_tool(call["name"], call["arguments"])))

    anyio.run(scenario)
