#!/usr/bin/env node
// Makes everything that a release publishes from the built programs and the templates in this folder, but for the image:
// archives, npm packages, Claude Desktop bundles, the Homebrew formula, `server.json` and the marketplace of the Claude Code plugin.
//
//   assemble.mjs --version 1.2.3 --repository OWNER/NAME --programs DIR --out DIR [--scope @SCOPE]
//
// DIR of the programs has a folder per target, and `universal-apple-darwin` with the one for both kinds of Mac. Nothing is uploaded, and
// nothing is packed that the tools of npm and of bundles pack.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const here = dirname(fileURLToPath(import.meta.url));
const top = join(here, "..", "..");

// target, npm's names of its platform
const TARGETS = [
  { target: "x86_64-unknown-linux-musl", os: "linux", cpu: "x64" },
  { target: "aarch64-unknown-linux-musl", os: "linux", cpu: "arm64" },
  { target: "x86_64-apple-darwin", os: "darwin", cpu: "x64" },
  { target: "aarch64-apple-darwin", os: "darwin", cpu: "arm64" },
];

// A bundle has one program for each system, so both kinds of Mac share one and each kind of Linux has its own.
const BUNDLES = [
  { name: "darwin", platform: "darwin", target: "universal-apple-darwin" },
  { name: "linux-x64", platform: "linux", target: "x86_64-unknown-linux-musl" },
  { name: "linux-arm64", platform: "linux", target: "aarch64-unknown-linux-musl" },
];

const { values } = parseArgs({
  options: {
    version: { type: "string" },
    repository: { type: "string" },
    scope: { type: "string" },
    programs: { type: "string" },
    out: { type: "string" },
  },
});
for (const needed of ["version", "repository", "programs", "out"]) {
  if (!values[needed]) stop(`--${needed} is missing`);
}
const { version, repository, programs, out } = values;
if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version)) stop(`${version} is no version`);
if (!/^[\w.-]+\/[\w.-]+$/.test(repository)) stop(`${repository} is no OWNER/NAME`);
if (existsSync(out)) stop(`${out} is there already`);
const owner = repository.split("/")[0];
const scope = values.scope ?? `@${owner.toLowerCase()}`;
const server = `io.github.${owner}/mcpproxy`;
const facts = {
  VERSION: version,
  REPOSITORY: repository,
  SCOPE: scope,
  SERVER: server,
  IMAGE: `ghcr.io/${repository.toLowerCase()}`,
};

archives();
npmPackages();
bundles();
write("mcpproxy.rb", filled("mcpproxy.rb", facts));
write("server.json", filled("server.json", facts));
write("marketplace.json", marketplace());

function archives() {
  mkdirSync(join(out, "archives"), { recursive: true });
  for (const { target } of TARGETS) {
    const folder = `mcpproxy-${version}-${target}`;
    const place = join(out, "work", folder);
    put(program(target), join(place, "mcpproxy"));
    for (const file of ["LICENSE", "README.md"]) copyFileSync(join(top, file), join(place, file));
    const archive = join(out, "archives", `${folder}.tar.gz`);
    execFileSync("tar", ["-czf", archive, "-C", join(out, "work"), "--owner=0", "--group=0", folder]);
    facts[`SHA256:${target}`] = createHash("sha256").update(readFileSync(archive)).digest("hex");
  }
}

function npmPackages() {
  const about = {
    version,
    license: "MIT",
    homepage: `https://github.com/${repository}`,
    repository: { type: "git", url: `git+https://github.com/${repository}.git` },
  };
  const programsByName = {};
  for (const { target, os, cpu } of TARGETS) {
    const name = `${scope}/mcpproxy-${os}-${cpu}`;
    const place = join("npm", `mcpproxy-${os}-${cpu}`);
    programsByName[name] = version;
    const described = {
      name,
      description: `The mcpproxy program for ${os} on ${cpu}. Install ${scope}/mcpproxy instead.`,
      ...about,
      os: [os],
      cpu: [cpu],
      files: ["bin/mcpproxy"],
      publishConfig: { access: "public" },
    };
    put(program(target), join(out, place, "bin", "mcpproxy"));
    write(join(place, "package.json"), json(described));
    write(join(place, "README.md"), `# ${name}\n\n${described.description}\n`);
    copyFileSync(join(top, "LICENSE"), join(out, place, "LICENSE"));
  }
  const launcher = {
    name: `${scope}/mcpproxy`,
    description: "One daemon between every AI client and every MCP server on a machine.",
    ...about,
    mcpName: server,
    keywords: ["mcp", "proxy", "gateway", "ai", "tools"],
    bin: { mcpproxy: "bin/mcpproxy.js" },
    files: ["bin/mcpproxy.js"],
    engines: { node: ">=18" },
    os: ["darwin", "linux"],
    cpu: ["arm64", "x64"],
    optionalDependencies: programsByName,
    publishConfig: { access: "public" },
  };
  const place = join("npm", "mcpproxy");
  put(join(here, "npm", "bin", "mcpproxy.js"), join(out, place, "bin", "mcpproxy.js"));
  write(join(place, "package.json"), json(launcher));
  write(join(place, "README.md"), filled(join("npm", "README.md"), facts));
  copyFileSync(join(top, "LICENSE"), join(out, place, "LICENSE"));
}

function bundles() {
  for (const { name, platform, target } of BUNDLES) {
    const place = join("mcpb", name);
    put(program(target), join(out, place, "server", "mcpproxy"));
    write(join(place, "manifest.json"), filled(join("mcpb", "manifest.json"), { ...facts, PLATFORM: platform }));
  }
}

// The marketplace of the sources names its plugin by a path beside it; the published one by repository, folder and tag.
function marketplace() {
  const folder = ".github/packaging/claude-plugin";
  const read = JSON.parse(readFileSync(join(top, folder, ".claude-plugin", "marketplace.json"), "utf8"));
  for (const plugin of read.plugins) {
    const path = join(folder, plugin.source);
    const its = JSON.parse(readFileSync(join(top, path, ".claude-plugin", "plugin.json"), "utf8"));
    if (its.version !== version) stop(`${path} says version ${its.version}, not ${version}`);
    plugin.source = { source: "git-subdir", url: `https://github.com/${repository}.git`, path, ref: `v${version}` };
  }
  return json(read);
}

function program(target) {
  const file = join(programs, target, "mcpproxy");
  if (!existsSync(file)) stop(`${file} is missing`);
  return file;
}

function put(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
  chmodSync(to, 0o755);
}

function write(name, text) {
  const file = join(out, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function filled(name, by) {
  const text = readFileSync(join(here, name), "utf8").replace(/@([A-Z][A-Z0-9]+(?::[\w-]+)?)@/g, (whole, key) => {
    if (!(key in by)) stop(`${name} has ${whole}, which nothing says`);
    return by[key];
  });
  return text;
}

function json(value) {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function stop(why) {
  process.stderr.write(`assemble: ${why}\n`);
  process.exit(2);
}
