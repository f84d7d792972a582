"""Servers that die, come back or are added while the daemon runs."""

import json
import os
import signal

import pytest

import raw
import rig


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A daemon with the time server and the everything server over HTTP, both ours to hurt."""
    folder = tmp_path_factory.mktemp("recovery")
    web = rig.EverythingOverHttp(folder / "web.log")
    entries = {"time": rig.stdio_servers(folder)["time"], "web": {"type": "http", "url": web.url}}
    daemon = rig.Daemon(folder, entries).start()
    try:
        daemon.wait_until_ready()
        yield daemon, web
    finally:
        daemon.stop()
        web.stop()


def utc(client: raw.Client) -> raw.Reply:
    return client.call("time__get_current_time", {"timezone": "UTC"})


@pytest.mark.skipif(not rig.has_proc(), reason="processes are found in /proc")
def test_after_a_server_was_killed_the_next_call_works(world):
    daemon, _ = world
    with raw.HttpClient(daemon.base + "/mcp/all").open() as client:
        assert not utc(client).value().get("isError")
        [old] = daemon.children()["time"]
        os.kill(old, signal.SIGKILL)
        rig.until(lambda: old not in daemon.marked(), "the killed server to be gone")
        # The daemon may not have noticed when the first call arrives: that one may fail, with a reason.
        rig.until(lambda: not utc(client).value().get("isError"), "a call to work again")
        [new] = daemon.children()["time"]
        assert new != old


def test_a_restarted_http_server_forgets_its_sessions_and_nobody_notices(world):
    daemon, web = world
    with raw.HttpClient(daemon.base + "/mcp/all").open() as client:
        assert not client.call("web__echo", {"message": "1"}).value().get("isError")
        web.stop()
        down = client.call("web__echo", {"message": "2"}).value()
        assert down["isError"]
        assert json.loads(down["content"][0]["text"])["server"] == "web"
        web.start()
        rig.until(lambda: not client.call("web__echo", {"message": "3"}).value().get("isError"), "the server to be back")
        web.stop()
        web.start()
        # Back before anybody looked: its sessions are gone, and the call still works.
        rig.until(lambda: not client.call("web__echo", {"message": "4"}).value().get("isError"), "the session to be renewed")


def test_a_dead_server_neither_empties_the_list_nor_delays_another(world):
    daemon, web = world
    with raw.HttpClient(daemon.base + "/mcp/all").open() as client:
        before = client.request("tools/list").result
        web.stop()
        try:
            assert client.request("tools/list").result == before
            assert not utc(client).value().get("isError")
        finally:
            web.start()


def test_a_server_written_into_the_file_appears_and_leaves_with_its_entry(world):
    daemon, _ = world
    written = daemon.config.read_text()
    config = json.loads(written)
    config["mcpServers"]["files"] = rig.stdio_servers(daemon.folder)["files"]
    with raw.HttpClient(daemon.base + "/mcp/all").open() as client:
        utc(client)
    processes = rig.has_proc() and daemon.children()["time"]

    def offers_files():
        with raw.HttpClient(daemon.base + "/mcp/all").open() as client:
            return "files__read_text_file" in client.request("tools/list").result

    daemon.config.write_text(json.dumps(config, indent=2))
    rig.until(offers_files, "the tools of the new server")
    daemon.config.write_text(written)
    rig.until(lambda: not offers_files(), "the tools of the removed server to be gone")
    assert processes == (rig.has_proc() and daemon.children()["time"]), "the other server was left alone"
