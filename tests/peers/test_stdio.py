"""Clients that can only start a process, on a machine where no daemon runs."""

import anyio
import pytest

import doors
import rig
import sdk

UTC = {"timezone": "UTC"}


@pytest.fixture
def nobody(tmp_path):
    """The files of a daemon that does not run."""
    return rig.Daemon(tmp_path, {"time": rig.stdio_servers(tmp_path)["time"]})


async def ask_for_the_time(session):
    doors.check_time((await sdk.find_and_call(session, "current time", UTC))["answer"])


def test_the_process_serves_its_client_and_leaves_nothing(nobody):
    async def scenario():
        async with sdk.connect(doors.process(nobody, "serve", "--stdio")) as session:
            await ask_for_the_time(session)
            assert [len(pids) for pids in nobody.children().values()] == [1]

    anyio.run(scenario)
    rig.until(lambda: not nobody.marked(), "the server to be gone with its client")


def test_a_daemon_is_started_for_its_clients_and_ends_after_them(nobody):
    async def scenario():
        to = doors.process(nobody, "stdio", "--idle-exit", "1s")
        async with sdk.connect(to) as first, sdk.connect(to) as second:
            await ask_for_the_time(first)
            await ask_for_the_time(second)
            assert [len(pids) for pids in nobody.children().values()] == [1]

    anyio.run(scenario)
    rig.until(lambda: not nobody.marked(), "the server to be gone with the daemon")
    nobody.cli("status", code=3)
