"""FastMCP's client, which many agents in Python are built on."""

import pytest

import clients
import doors


@pytest.mark.parametrize("door", doors.ALL, ids=str)
def test_it_lists_and_calls(peers, home, door):
    saw = clients.visit(home, clients.FASTMCP, {"target": door.target(peers.daemon), "calls": [door.call()]})
    door.check_list(saw["tools"])
    doors.check_time(saw["answers"][0])
