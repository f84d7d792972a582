"""No process outlives the daemon: after SIGTERM at once, after `kill -9` when the next one starts."""

import json

import pytest

import rig

pytestmark = pytest.mark.skipif(not rig.has_proc(), reason="processes are counted in /proc")


@pytest.fixture
def daemon(tmp_path):
    """A daemon of this test alone, with the four servers on pipes."""
    daemon = rig.Daemon(tmp_path, rig.stdio_servers(tmp_path)).start()
    try:
        daemon.wait_until_ready()
        assert_one_of_each(daemon)
        yield daemon
    finally:
        daemon.stop()


def assert_one_of_each(daemon):
    """One process of each server; of one that asks perhaps none, because it sleeps when it has listed."""
    for name, pids in daemon.children().items():
        assert len(pids) == 1 or name in rig.ASKING and not pids, name


def test_what_a_killed_daemon_left_behind_is_gone_when_the_next_one_has_started(daemon):
    before = set(daemon.marked())
    daemon.kill()
    daemon.start()
    rig.until(lambda: not before & set(daemon.marked()), "the processes of the killed daemon to be gone")
    daemon.wait_until_ready()
    assert_one_of_each(daemon)
    assert daemon.stop() == 0
    assert daemon.marked() == {}


def test_sigterm_leaves_no_process_and_then_known_tools_are_listed_at_once_without_starting_anything(daemon):
    def listed():
        return json.loads(daemon.cli("tools", "list", "-o", "json"))["tools"]

    before = listed()
    # npx, its shell and the server it started: more than one process for this one.
    assert len([name for name in daemon.marked().values() if name == "memory"]) > 1
    assert daemon.stop() == 0
    assert daemon.marked() == {}
    daemon.start()
    assert listed() == before
    assert daemon.marked() == {}
