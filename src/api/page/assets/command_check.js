// Whether the command of an entry is there: looked for where the daemon starts servers, when the field is left. It says so and forbids nothing.

import { Failure, ask, query } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { checked } from "./leaving.js";
import { button } from "./parts.js";
import { capital, said } from "./words.js";

/** `control` is the field; `about` gives `{command, cwd, path}` of the entry as it stands, or nothing where there is nothing to look for. */
export function commandCheck(control, about) {
  const box = h("div", { role: "status" });
  let asked = "";
  let asking = null;

  function clear() {
    asking?.abort();
    asked = "";
    fill(box);
  }

  async function look() {
    const wanted = about();
    if (!wanted?.command) return clear();
    const question = query("commands", wanted);
    if (question === asked) return;
    asking?.abort();
    const mine = new AbortController();
    [asked, asking] = [question, mine];
    try {
      const found = await ask(question, { signal: mine.signal });
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

function told({ found, judged, file, reason, next_step: step, closest }, use) {
  // A reference may have its value elsewhere.
  if (!judged) return null;
  if (found) return h("p.hint.good", icon("check"), h("span", "Found: ", h("code", said(file))));
  const meant = closest ? [" ", button(`Use ${closest}`, () => use(closest), "link")] : null;
  return h("p.hint.warn", icon("s-auth"), h("span", capital(reason), ". Next: ", said(inForm(step)), ".", meant));
}

/** The fields as the form calls them. */
const inForm = (step) => step.replaceAll('`command`', "Command").replaceAll('`args`', "Arguments").replaceAll('`cwd`', "Folder").replaceAll('"environment"', "the settings");
