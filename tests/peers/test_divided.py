"""Processes of a server that several clients share until it asks them something."""

import asyncio
from contextlib import AsyncExitStack

import pytest

import rig
from matrix.cells import Visit
from matrix.servers import SERVERS
from matrix.visits import Matrix

pytestmark = pytest.mark.skipif(not rig.has_proc(), reason="processes are counted in /proc")
CLIENTS = 5


@pytest.mark.parametrize("name", ["typescript2-pipe-both"])
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
