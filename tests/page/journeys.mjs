// Plays the journeys, two files at a time, in one browser: `node journeys.mjs FILE…`. What it started ends with it.
import { spawn } from "node:child_process";
import { launched } from "./browser.mjs";

const browser = await launched("launchServer");
const args = ["--test", "--test-force-exit", "--test-concurrency=2", "--test-timeout=900000", ...process.argv.slice(2)];
const played = spawn(process.execPath, args, { stdio: "inherit", env: { ...process.env, BROWSER: browser.wsEndpoint() } });
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => played.kill(signal));
played.once("exit", async (code) => {
  await browser.close();
  process.exit(code ?? 1);
});
