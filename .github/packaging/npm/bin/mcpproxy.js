#!/usr/bin/env node
// Starts the program for this platform, which npm installed beside this package as an optional dependency.
// It downloads nothing. Standard input and output are the program's own, signals are passed on, and so is the way it ended.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { name } = require("../package.json");

const platform = `${process.platform}-${process.arch}`;
const supported = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"];

function program() {
  if (!supported.includes(platform)) {
    fail(`there is no program for ${platform}; there are ${supported.join(", ")}`);
  }
  try {
    return require.resolve(`${name}-${platform}/bin/mcpproxy`);
  } catch {
    fail(
      `${name}-${platform} is not installed, which has the program for this platform.\n` +
        `npm leaves it out with --omit=optional, and in a node_modules folder that came from another platform: install ${name} again.`,
    );
  }
}

function fail(why) {
  process.stderr.write(`mcpproxy: ${why}\n`);
  process.exit(1);
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => fail(`failed to start the program: ${error.message}`));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => {
  process.exit(signal === null ? code : 128 + constants.signals[signal]);
});
