"""What several clients have of a server that they share until it asks them something: processes, and tools that one of them adds."""

import asyncio
import time
from contextlib import AsyncExitStack

import pytest

import rig
from matrix.cells import Visit
from matrix.client import Client, capabilities
from matrix.features import key, tried
from matrix.servers import SERVERS
from matrix.visits import Matrix

pytestmark = pytest.mark.skipif(not rig.has_proc(), reason="processes are counted in /proc")
CLIENTS = 5


@pytest.mark.parametrize("name", ["python2-pipe", "typescript2-pipe-both", "rust3-pipe"])
def test_one_for_all_until_it_asks_then_one_for_each_client_that_can_answer(tmp_path, name):
    [server] = [it for it in SERVERS if it.name == name]

    async def processes(count: int, what: str):
        def there():
            found = len(matrix.daemon.children()[server.name])
            return found == count or None

        await asyncio.to_thread(rig.until, there, f"{count} processes: {what}")

    async def scenario():
        async with AsyncExitStack() as stack:
            visits = [Visit(server, "2025-11-25", way) for way in ["http", "sse", "pipe", "http", "sse"]]
            clients = [await stack.enter_async_context(matrix.through(visit)) for visit in visits]

            async def all_call():
                await asyncio.gather(*(client.call("greet", {"name": "Ada"}) for client in clients))

            await all_call()
            await processes(1, "it has not asked yet")
            # Nobody knows whom it means.
            refused = await asyncio.gather(clients[0].call("form"), return_exceptions=True)
            assert clients[0].asked == [], refused
            await all_call()
            await processes(CLIENTS, "one for each client")
            for client in clients:
                assert "Ada" in str(await client.call("form"))
        await processes(0, "gone with their clients")
        async with matrix.through(Visit(server, "2025-11-25", "http")) as client:
            await client.call("form")
            await processes(1, "for the client that is there")
            matrix.daemon.kill()
            await asyncio.to_thread(rig.until, lambda: not matrix.daemon.marked(), "nothing is left by a daemon that was killed")

    # The connection that lists for everybody sleeps when it has nothing to do.
    with Matrix(tmp_path, [server], {"idle_check_interval": "1s"}) as matrix:
        asyncio.run(scenario())


# A server of each SDK that several clients have asked: on pipes each client has a process, over HTTP with sessions they share one.
ASKED = ["python1-pipe", "python2-pipe", "fastmcp4-pipe", "typescript2-pipe-both", "rust3-pipe"]
ASKED += ["python2-http", "fastmcp4-http", "typescript2-http-sessions", "rust3-http-sessions"]


async def added(by: Client, others: Client) -> tuple[dict, float]:
    """What both have of a tool that is added by a call of the first, and how long that took the first."""

    async def known_to(client: Client, seconds: float) -> dict:
        heard = await client.hears("notifications/tools/list_changed", seconds)
        tools = (await client.request("tools/list"))["tools"]
        used = await tried(client.call(name)) if any(tool["name"] == name for tool in tools) else None
        return {"heard": heard, "used": used}

    name = key()
    for client in (by, others):
        client.heard.clear()
    began = time.monotonic()
    await by.call("add_tool", {"name": name})
    own = await known_to(by, 10)
    took = time.monotonic() - began
    return {"by": own, "others": await known_to(others, 1)}, took


@pytest.mark.parametrize("name", ASKED)
def test_a_tool_that_one_client_adds_is_there_within_a_second_and_for_others_as_directly(tmp_path, name):
    [server] = [it for it in SERVERS if it.name == name]

    async def compared(matrix: Matrix):
        async with AsyncExitStack() as stack:
            visit = Visit(server, "2025-11-25", "http")
            able = capabilities("2025-11-25")
            opened = [matrix.through(visit) for _ in range(2)] + [server.direct(matrix.urls[server], "2025-11-25", able) for _ in range(2)]
            clients = [await stack.enter_async_context(client) for client in opened]
            for client in clients:
                # The very first question is refused where several clients have used a connection.
                await asyncio.gather(client.call("form"), return_exceptions=True)
            ours = [await added(*clients[:2]) for _ in range(3)]
            theirs, directly = await added(*clients[2:])
            assert theirs["by"]["used"] == {"text": ["added"]}
            for found, _ in ours:
                # Others may hear more of it than directly: who hears nothing there lists again when it likes.
                found["others"]["heard"] &= theirs["others"]["heard"]
                assert found == theirs
            # Once at least, on a machine that does something else as well.
            assert min(took for _, took in ours) < directly + 1, (ours, directly)

    with Matrix(tmp_path, [server]) as matrix:
        asyncio.run(compared(matrix))
