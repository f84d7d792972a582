"""The clients that are programs of their own. Each runs in a fresh home, never in that of whoever runs the tests."""

import json
import os
import subprocess
import threading
from pathlib import Path

import rig

MODULES = rig.PEERS / "clients" / "node_modules"
NODE = rig.NODE
CLAUDE = [NODE, str(MODULES / "@anthropic-ai/claude-code/cli-wrapper.cjs")]
CODEX = [NODE, str(MODULES / "@openai/codex/bin/codex.js")]
GEMINI = [NODE, str(MODULES / "@google/gemini-cli/bundle/gemini.js")]
INSPECTOR = [NODE, str(MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"), "--cli"]
MCP_REMOTE = [NODE, str(MODULES / "mcp-remote/dist/proxy.js")]
FASTMCP = [str(rig.PEERS / "requirements-fastmcp/bin/python"), str(Path(__file__).with_name("fastmcp_client.py"))]
TYPESCRIPT = [NODE, str(Path(__file__).with_name("typescript_client.mjs"))]

# They look for newer versions and report their use, neither of which is part of a test.
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "FASTMCP_CHECK_FOR_UPDATES": "off",
    "NO_COLOR": "1",
}


class Home:
    """A home folder with an empty project in it; clients are started in the project."""

    def __init__(self, folder: Path):
        self.folder = folder / "client"
        self.project = self.folder / "project"
        self.project.mkdir(parents=True)
        path = f"{Path(NODE).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = QUIET | {"HOME": str(self.folder), "PATH": path}

    def write(self, path: str, content: str | dict):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")

    def run(self, *command: str, seconds: float = 90) -> str:
        """Standard output and standard error of a command that has to end well, in this order."""
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0, f"{command}: exit {done.returncode}\n{said}{self.logs()}"
        return done.stdout or done.stderr

    def start(self, *command: str) -> subprocess.Popen:
        """A client that is spoken to over its pipes."""
        return subprocess.Popen(
            command,
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(self.folder / "stderr.log").open("a"),
            text=True,
            encoding="utf-8",
        )

    def logs(self) -> str:
        """What the clients wrote about themselves, for the message of a failure."""
        logs = sorted(it for pattern in ("*.log", "*.jsonl") for it in self.folder.rglob(pattern))
        return "".join(f"\n--- {log}\n{log.read_text(errors='replace')[-3000:]}" for log in logs)


kept: dict[str, tuple[subprocess.Popen, Home]] = {}


def visit(home: Home, program: list[str], visit: dict, seconds: float = 90) -> dict:
    """What one of the scripts beside this file saw on a visit. Each is started once and makes all visits, because loading its SDK takes
    longer than a visit. It ends with its input."""
    script, its_home = kept.get(program[-1]) or (None, home)
    if script is None or script.poll() is not None:
        script, its_home = kept[program[-1]] = home.start(*program), home
    deadline = threading.Timer(seconds, script.kill)
    deadline.start()
    try:
        script.stdin.write(json.dumps(visit) + "\n")
        script.stdin.flush()
        saw = script.stdout.readline()
    finally:
        deadline.cancel()
    if not saw:
        script.wait(10)
    assert saw, f"{program}: {visit}{its_home.logs()}"
    return json.loads(saw)
