// Values that found servers lack, placeholders of their pages for example: a field for each, and what was written in it.

import { h } from "./dom.js";
import { count, said } from "./words.js";

export const isSecret = ({ place, text }) => place.startsWith("secret.") || (/token|secret|passw|key|auth|uri|pat\b/i.test(`${place} ${text}`) && !/folder|file|path/i.test(place));

/** What a placeholder is called: the variable, or what is in the argument. */
const labelOf = ({ place, text }) => (place.startsWith("args.") || place === "url" ? text : place.slice(place.indexOf(".") + 1));

const placeholders = (servers) => servers.flatMap((one) => (one.placeholders ?? []).map((blank) => ({ one, blank })));

/** Fields whose ids begin with `begin`. */
export function blanks(begin) {
  const values = new Map();
  const idOf = (one, blank) => `${begin}-${one.name}-${blank.place}`.replace(/[^\w-]/g, "_");
  const valueOf = (one, blank) => (values.get(`${one.name} ${blank.place}`) ?? "").trim();

  const it = {
    valueOf,
    clear: () => values.clear(),
    field(one, blank) {
      const id = idOf(one, blank);
      return h("div", h("label.lab", { for: id }, h("code", said(labelOf(blank)))),
        h("input.mono", {
          id, type: isSecret(blank) ? "password" : "text", autocomplete: "off", spellcheck: "false", "data-kept": "", "data-key": id,
          on: { input: (event) => { values.set(`${one.name} ${blank.place}`, event.target.value); } },
        }));
    },
    fields: (one) => (one.placeholders ?? []).map((blank) => it.field(one, blank)),
    /** Which of them are empty, in words; the first has the focus then. */
    lacking(servers) {
      const empty = placeholders(servers).filter(({ one, blank }) => !valueOf(one, blank));
      if (!empty.length) return "";
      document.getElementById(idOf(empty[0].one, empty[0].blank))?.focus();
      return `${count(empty.length, "field")} ${empty.length === 1 ? "needs" : "need"} a value: ${empty.map(({ blank }) => labelOf(blank)).join(", ")}`;
    },
    /** What was written, by server and place. */
    given(servers) {
      const all = {};
      for (const { one, blank } of placeholders(servers)) if (valueOf(one, blank)) (all[one.name] ??= {})[blank.place] = valueOf(one, blank);
      return all;
    },
  };
  return it;
}
