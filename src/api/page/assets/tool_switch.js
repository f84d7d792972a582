// Whether agents get a tool: its name in `disabled_tools` of its server.

import { ask, part, patch } from "./api.js";

/** A name as a pattern that matches it alone. */
export const globOf = (name) => name.replace(/[*?[\]{}\\!]/g, "\\$&");

/** Changes the entry, so that agents do not get these tools any more, or get them again. */
export async function offerTools(server, names, isOffered) {
  const details = await ask(`servers/${part(server)}`);
  const patterns = names.map(globOf);
  const others = (details.entry?.disabled_tools ?? []).filter((pattern) => !patterns.includes(pattern));
  const disabled = isOffered ? others : [...others, ...patterns];
  await patch(`servers/${part(server)}`, { disabled_tools: disabled.length ? disabled : null });
}
