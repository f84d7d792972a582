// Whether the command or the address of an entry is there, when its field is left: looked for where the daemon starts servers, and on this
// machine alone. It says so and forbids nothing.

import { Failure, ask, post, query } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { urlFault } from "./entry.js";
import { checked, untilReleased } from "./leaving.js";
import { button } from "./parts.js";
import { capital, said } from "./words.js";

/** `wanted` gives what is to be looked for, or nothing; `ask_` asks for it, and `told` says what came of it. */
function fieldCheck(control, wanted, ask_, told) {
  const box = h("div", { role: "status" });
  let asked = "";
  let asking = null;

  function clear() {
    asking?.abort();
    asked = "";
    fill(box);
  }

  async function look() {
    const now = wanted();
    if (!now) return clear();
    if (now === asked) return;
    asking?.abort();
    const mine = new AbortController();
    [asked, asking] = [now, mine];
    try {
      const found = await ask_(now, { signal: mine.signal });
      await untilReleased();
      if (asking === mine) fill(box, told(found, use));
    } catch (failure) {
      if (asking === mine && failure instanceof Failure) clear();
      else if (!mine.signal.aborted && !(failure instanceof Failure)) throw failure;
    }
  }

  /** Puts the program that was meant into the field. */
  function use(name) {
    control.value = name;
    control.dispatchEvent(new Event("input", { bubbles: true }));
    control.focus();
    look();
  }

  checked(control, look);
  control.addEventListener("input", clear);
  return { node: box, look };
}

/** `control` is the field; `about` gives `{command, cwd, path}` of the entry as it stands, or nothing where there is nothing to look for. */
export const commandCheck = (control, about) => fieldCheck(control, () => { const it = about(); return it?.command ? query("commands", it) : ""; }, ask, told);

/** The same of an address. Only this machine is asked whether something listens. */
export const addressCheck = (control) => fieldCheck(control, () => (urlFault(control.value.trim()) ? "" : control.value.trim()), (text, options) => post("import/pasted", { text }, options),
  ({ servers: [one] }) => (one?.warning ? h("p.hint.warn", icon("s-auth"), h("span", capital(one.warning), ". You can save the URL anyway.")) : null));

function told({ found, judged, file, reason, next_step: step, closest }, use) {
  // A reference may have its value elsewhere.
  if (!judged) return null;
  if (found) return h("p.hint.good", icon("check"), h("span", "Found: ", h("code", said(file))));
  const meant = closest ? [" ", button(`Use ${closest}`, () => use(closest), "link")] : null;
  return h("p.hint.warn", icon("s-auth"), h("span", capital(reason), ". Next: ", said(inForm(step)), ".", meant));
}

/** The fields as the form calls them. */
const inForm = (step) => step.replaceAll('`command`', "Command").replaceAll('`args`', "Arguments").replaceAll('`cwd`', "Folder").replaceAll('"environment"', "the settings");
