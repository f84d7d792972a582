// Whether agents get a tool: its name in `disabled_tools` of its server.

import { ask, part, patch, undoChanges } from "./api.js";

/** A name as a pattern that matches it alone. */
export const globOf = (name) => name.replace(/[*?[\]{}\\!]/g, "\\$&");

/** Limit: values of one change. */
const MOST = 100;

/** Changes the entries by one change of the file, so that agents do not get these tools any more, or get them again. `by` has the tools'
 * own names by server. Gives what undoes it: what was hidden before stays so. */
export async function offerTools(by, isOffered) {
  const changes = await Promise.all([...by].map(async ([server, names]) => {
    const { entry } = await ask(`servers/${part(server)}`);
    const patterns = names.map(globOf);
    const others = (entry?.disabled_tools ?? []).filter((pattern) => !patterns.includes(pattern));
    const disabled = isOffered ? others : [...others, ...patterns];
    return { path: ["mcpServers", server, "disabled_tools"], value: disabled.length ? disabled : null };
  }));
  const ids = [];
  for (let done = 0; done < changes.length; done += MOST) ids.unshift((await patch("config", { changes: changes.slice(done, done + MOST) })).id);
  return () => undoChanges(ids.filter(Boolean));
}
