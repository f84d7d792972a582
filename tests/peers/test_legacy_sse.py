"""HTTP+SSE of 2024-11-05 on both sides of the daemon: the everything server behind it, the official client before it."""

import json

import anyio
import pytest

import calls
import raw
import rig
import sdk


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A daemon whose servers speak HTTP+SSE: one says so, of the other it has to be found out."""
    folder = tmp_path_factory.mktemp("legacy-sse")
    old = rig.EverythingOverHttp(folder / "old.log", "sse")
    entries = {"told": {"type": "sse", "url": old.url}, "found": {"type": "auto", "url": old.url}}
    daemon = rig.Daemon(folder, entries).start()
    try:
        daemon.wait_until_ready()
        yield daemon, old
    finally:
        daemon.stop()
        old.stop()


def stream(daemon: rig.Daemon, endpoint: str) -> dict:
    """What the official client has to be told to speak HTTP+SSE to this endpoint."""
    return {"transport": "sse", "url": f"{daemon.base}{endpoint}/sse"}


def test_results_are_the_same_as_those_of_the_same_server_on_a_pipe(world, tmp_path):
    daemon, _ = world
    pipe = rig.stdio_servers(tmp_path)["everything"]
    with (
        raw.StdioClient(pipe["command"], pipe["args"]).open() as direct,
        raw.HttpClient(f"{daemon.base}/mcp/server/told").open() as told,
        raw.HttpClient(f"{daemon.base}/mcp/server/found").open() as found,
    ):
        for tool, arguments in calls.repeatable("everything", tmp_path):
            theirs, *ours = (client.call(tool, arguments) for client in (direct, told, found))
            assert [(it.result, it.error) for it in ours] == [(theirs.result, theirs.error)] * 2, tool


@pytest.mark.parametrize("server", ["told", "found"])
def test_progress_and_prompts_come_through(world, server):
    daemon, _ = world

    async def scenario():
        async with sdk.connect(stream(daemon, f"/mcp/server/{server}")) as session:
            steps = []

            async def on_progress(progress, total, message):
                steps.append((progress, total))

            arguments = {"duration": 1, "steps": 3}
            await session.call_tool("trigger-long-running-operation", arguments, progress_callback=on_progress)
            assert steps == [(1, 3), (2, 3), (3, 3)]
            prompt = sdk.plain(await session.get_prompt("args-prompt", {"city": "Rom"}))
            assert "Rom" in prompt["messages"][0]["content"]["text"]

    anyio.run(scenario)


def test_a_restarted_server_is_opened_again(world):
    daemon, old = world
    with raw.HttpClient(daemon.base + "/mcp/all").open() as client:

        def works():
            return not client.call("told__echo", {"message": "hallo"}).value().get("isError")

        rig.until(works, "the server to answer")
        old.stop()
        down = client.call("told__echo", {"message": "hallo"}).value()
        assert down["isError"]
        assert json.loads(down["content"][0]["text"])["server"] == "told"
        old.start()
        rig.until(works, "the server to be back")


def test_ten_clients_come_and_leave_nothing(world):
    daemon, _ = world

    def active_clients() -> int:
        return json.loads(raw.http_request(daemon.base + "/health", "GET").body)["active_clients"]

    before = active_clients()

    async def client():
        async with sdk.connect(stream(daemon, "/mcp/all")) as session:
            for n in range(10):
                echo = await sdk.call(session, "told__echo", {"message": str(n)})
                assert echo["content"][0]["text"] == f"Echo: {n}"

    async def scenario():
        async with anyio.create_task_group() as clients:
            for _ in range(10):
                clients.start_soon(client)

    anyio.run(scenario)
    rig.until(lambda: active_clients() == before, "the clients to be forgotten")
