"""FastMCP's client, which many agents in Python are built on."""

import pytest

import clients
import doors


def visit(peers, home, door, mode):
    told = {"target": door.target(peers.daemon), "mode": mode, "calls": [door.call()]}
    saw = clients.visit(home, clients.FASTMCP, told)
    door.check_list(saw["tools"])
    doors.check_time(saw["answers"][0])


@pytest.mark.parametrize("door", doors.ALL, ids=str)
def test_it_lists_and_calls(peers, home, door):
    visit(peers, home, door, "auto")


@pytest.mark.parametrize("door", doors.HTTP + doors.STDIO, ids=str)
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_it_does_so_in_a_given_era(peers, home, door, mode):
    visit(peers, home, door, mode)
