"""The official TypeScript SDK as a client."""

import json
import subprocess
from pathlib import Path

import rig


def test_it_lists_calls_and_leaves(peers):
    script = Path(__file__).with_name("typescript_client.mjs")
    done = subprocess.run(
        ["node", str(script), str(rig.PEERS / "node_modules"), peers.daemon.base + "/mcp/all"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    saw = json.loads(done.stdout)
    assert {name.partition("__")[0] for name in saw["tools"]} >= peers.entries.keys()
    assert saw["answers"]["echo"]["content"] == [{"type": "text", "text": "Echo: servus"}]
    assert saw["answers"]["weather"]["structuredContent"]["temperature"] == 36
    assert saw["answers"]["time"]["structuredContent"]["timezone"] == "UTC"
    assert saw["progress"] == [{"progress": 1, "total": 2}, {"progress": 2, "total": 2}]
