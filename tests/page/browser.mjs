// The browser of the journeys.
import { createRequire } from "node:module";
import { join } from "node:path";

/** What `setup` installed. */
export const installed = createRequire(join(process.env.MCPPROXY_PAGE_TESTS_DIR, "package.json"));

const { chromium } = installed("playwright-core");

export const launched = (how = "launch") => chromium[how]({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });

/** That of the run, or one of its own where a file is played alone. */
export const browserOfRun = () => (process.env.BROWSER ? chromium.connect(process.env.BROWSER) : launched());
