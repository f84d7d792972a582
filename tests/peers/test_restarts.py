"""Sessions of the official SDKs go on when the daemon is started anew, whether it ended in order or was killed."""

import json

import anyio
import pytest

import clients
import raw
import rig
import sdk

MODULES = {1: rig.PEERS / "node_modules", 2: clients.MODULES}
UTC = {"timezone": "UTC"}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    """A daemon with the time server, ours to end."""
    folder = tmp_path_factory.mktemp("restarts")
    daemon = rig.Daemon(folder, {"time": rig.stdio_servers(folder)["time"]}).start()
    try:
        daemon.wait_until_ready()
        yield daemon
    finally:
        daemon.stop()


def restart(daemon, how):
    """Another daemon at the same address."""
    if how == "stop":
        assert daemon.stop() == 0
    else:
        daemon.kill()
    daemon.start(daemon.port)


ENDINGS = pytest.mark.parametrize("how", ["stop", "kill"])


@ENDINGS
def test_a_session_of_the_python_sdk_goes_on(daemon, how):
    async def scenario():
        async with sdk.connect(daemon.base + "/mcp/all") as session:
            await sdk.call(session, "time__get_current_time", UTC)
            for _ in range(2):
                await anyio.to_thread.run_sync(restart, daemon, how)
                now = await sdk.call(session, "time__get_current_time", UTC)
                assert now["structuredContent"]["timezone"] == "UTC"
                names = [tool.name for tool in (await session.list_tools()).tools]
                assert "time__get_current_time" in names

    anyio.run(scenario)


@ENDINGS
@pytest.mark.parametrize("major", [1, 2])
def test_a_session_of_the_typescript_sdk_goes_on(daemon, home, major, how):
    call = {"name": "time__get_current_time", "arguments": UTC}
    target = {"transport": "http", "url": daemon.base + "/mcp/all"}
    calls = [call, call | {"wait": True}, call | {"wait": True}]
    told = {"modules": str(MODULES[major]), "major": major, "negotiation": None, "target": target, "calls": calls}
    client = home.start(*clients.TYPESCRIPT)
    try:
        print(json.dumps(told), file=client.stdin, flush=True)
        for _ in range(2):
            assert client.stdout.readline().strip() == "waiting"
            restart(daemon, how)
            print("go on", file=client.stdin, flush=True)
        saw = json.loads(client.stdout.readline())
        assert len(saw["answers"]) == 3
        assert all(answer["structuredContent"]["timezone"] == "UTC" for answer in saw["answers"])
        client.stdin.close()
        assert client.wait(60) == 0
    finally:
        client.kill()


@ENDINGS
def test_a_session_that_was_ended_does_not_come_back(daemon, how):
    client = raw.HttpClient(daemon.base + "/mcp/all").open()
    session = client.session
    client.close()
    restart(daemon, how)
    again = raw.HttpClient(daemon.base + "/mcp/all")
    again.session = session
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    answer = raw.http_request(again.url, "POST", again.headers(), ping)
    assert answer.status == 404
    assert json.loads(answer.body)["error"]["code"] == -32001
