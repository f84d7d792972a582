"""Clients that can only start a process: the official Python SDK before `mcpproxy stdio` and `mcpproxy serve --stdio`."""

import json

import anyio
import pytest

import doors
import rig
import sdk

BRIDGE = ("stdio", "--endpoint", "/mcp/all")
ALONE = ("serve", "--stdio", "--mode", "direct")


@pytest.fixture
def unstarted(tmp_path):
    """The files of a daemon with the four servers on pipes, that nobody has started."""
    daemon = rig.Daemon(tmp_path, rig.stdio_servers(tmp_path))
    config = json.loads(daemon.config.read_text())
    daemon.config.write_text(json.dumps(config | {"listen": "127.0.0.1:0"}))
    return daemon


async def listed(session, servers) -> None:
    """Waits until every server has been listed once."""
    with anyio.fail_after(120):
        while True:
            names = {tool.name.partition("__")[0] for tool in (await session.list_tools()).tools}
            if names >= set(servers):
                return
            await anyio.sleep(0.1)


@pytest.mark.parametrize("way", [BRIDGE, ALONE], ids=["stdio", "serve --stdio"])
def test_it_joins_the_daemon_that_runs(peers, way):
    async def scenario():
        async with sdk.connect(doors.process(peers.daemon, *way)) as session:
            await sdk.every_server_answers(session, peers.folder)
            steps = []

            async def on_progress(progress, total, message):
                steps.append((progress, total))

            arguments = {"duration": 1, "steps": 3}
            names = [tool.name for tool in (await session.list_tools()).tools]
            # A long name, in which the server's is cut.
            long = next(name for name in names if name.startswith("every") and "__trigger-long-running" in name)
            await session.call_tool(long, arguments, progress_callback=on_progress)
            assert steps == [(1, 3), (2, 3), (3, 3)]

    anyio.run(scenario)
    if rig.has_proc():
        counts = {name: len(pids) for name, pids in peers.daemon.children().items()}
        # It asks: clients that cannot answer share one, and another lists.
        assert counts.pop("everything") in (1, 2)
        assert counts == dict.fromkeys([name for name in peers.daemon.stdio if name != "everything"], 1)


def test_alone_it_is_the_daemon_and_leaves_nothing_behind(unstarted):
    async def scenario():
        async with sdk.connect(doors.process(unstarted, *ALONE)) as session:
            await listed(session, unstarted.stdio)
            now = await sdk.call(session, "time__get_current_time", {"timezone": "UTC"})
            assert now["structuredContent"]["timezone"] == "UTC"
            graph = await sdk.call(session, "memory__read_graph", {})
            assert graph["structuredContent"]["entities"] == []

    anyio.run(scenario)
    assert unstarted.marked() == {}


def test_a_search_says_that_it_is_early_and_then_finds(unstarted):
    async def scenario():
        async with sdk.connect(doors.process(unstarted, "serve", "--stdio")) as session:
            found = await sdk.find_and_call(session, "time:get_current_time", "current time", {"timezone": "UTC"})
            doors.check_time(found["answer"])

    anyio.run(scenario)
    assert unstarted.marked() == {}


def test_ten_at_once_share_one_daemon_that_ends_after_them(unstarted):
    to = doors.process(unstarted, *BRIDGE, "--idle-exit", "1s")

    async def scenario():
        counts = []
        arrived = 0
        everybody_is_in = anyio.Event()

        async def client():
            nonlocal arrived
            async with sdk.connect(to) as session:
                await listed(session, unstarted.stdio)
                await sdk.call(session, "memory__read_graph", {})
                await sdk.call(session, "time__get_current_time", {"timezone": "UTC"})
                arrived += 1
                if arrived == 10:
                    counts.append(unstarted.children())
                    everybody_is_in.set()
                await everybody_is_in.wait()

        async with anyio.create_task_group() as clients:
            for _ in range(10):
                clients.start_soon(client)
        return counts

    [count] = anyio.run(scenario)
    if rig.has_proc():
        assert {name: len(count[name]) for name in ("memory", "time")} == {"memory": 1, "time": 1}
    rig.until(lambda: unstarted.marked() == {}, "the daemon and its servers to end")
    unstarted.cli("status", code=3)
