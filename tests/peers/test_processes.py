"""Ten clients, one process for each server, and nothing in it that is not its business."""

import json

import anyio
import pytest

import rig
import sdk


@pytest.mark.skipif(not rig.has_proc(), reason="processes are counted in /proc")
def test_ten_clients_at_once_share_one_process_of_each_server(peers):
    async def scenario():
        counts = []
        everybody_is_in = anyio.Event()
        arrived = 0

        async def client():
            nonlocal arrived
            async with sdk.connect(peers.daemon.base + "/mcp/all") as session:
                await session.list_tools()
                await sdk.every_server_answers(session, peers.folder)
                arrived += 1
                if arrived == 10:
                    counts.append(peers.daemon.children())
                    everybody_is_in.set()
                await everybody_is_in.wait()
                await sdk.every_server_answers(session, peers.folder)

        async with anyio.create_task_group() as clients:
            for _ in range(10):
                clients.start_soon(client)
        counts.append(peers.daemon.children())
        return counts

    for count in anyio.run(scenario):
        assert {name: len(pids) for name, pids in count.items()} == dict.fromkeys(peers.daemon.stdio, 1)


@pytest.mark.skipif(not rig.has_proc(), reason="processes are counted in /proc")
def test_the_processes_are_the_daemons_own_children(peers):
    for name, pids in peers.daemon.children().items():
        assert [rig.parent(pid) for pid in pids] == [peers.daemon.process.pid], name

def test_children_inherit_no_secrets_of_the_shell(peers):
    with peers.through("/mcp/all") as client:
        # Names only: what a failure prints stays in logs.
        names = list(json.loads(client.call("everything__get-env").value()["content"][0]["text"]))
    assert "PATH" in names
    assert "SHELL_SECRET" not in names
