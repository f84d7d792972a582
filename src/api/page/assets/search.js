// What an agent gets for some words: the answer of retrieve_tools, and why each tool stands where it does.

import { ask, askText, part, query } from "./api.js";
import { h, svg } from "./dom.js";
import { read as exact, write } from "./exact.js";
import { live } from "./live.js";
import { button, copying, empty, go, json, needsYou, note, wrong } from "./parts.js";
import { asker } from "./records.js";
import { name, toolsList } from "./tools_list.js";
import { at, count, number, plain, said, sentence, tokens, took } from "./words.js";

/** Words of a search in vain that are tried by themselves. */
const TRIED = 5;

/** Limit: words of agents that are listed. */
const LATELY = 8;

/** Limit: tools that are named of those that are left out. */
const NAMED = 3;

export function search(first, frame) {
  let asked, found, text, finds = 0, servers = [], callers = { subjects: [], profiles: [] }, lately = [], known = [], failure = null, fewer = null;
  const whole = toolsList(frame, () => asked, (changes) => change(changes));

  /** A search has other settings than the list: none is in force that is not shown. */
  function read(now) {
    const q = now.get("q") ?? "";
    const of = (is, key) => (is && now.get(key)) || "";
    asked = { q, match: of(q, "match") || "any", server: now.get("server") ?? "", as: of(q, "as"), profile: of(q, "profile"), read_only: of(q, "read_only") === "true" ? "true" : "", type: of(!q, "type"), state: of(!q, "state"), unused: of(!q, "unused") === "true" ? "true" : "" };
  }
  read(first);

  async function load() {
    const asking = ask("tools");
    const [list, names, records, every] = await Promise.all([
      ask("servers"),
      ask("access/callers"),
      ask(query("activity", { kind: "call", tool: "retrieve_tools", limit: 30 })),
      asking,
      find(asking),
    ]);
    servers = list.servers.map((one) => one.name);
    callers = names;
    known = every.tools;
    const seen = new Set();
    const searches = records.records.filter((record) => record.arguments?.query?.trim?.() && !seen.has(record.arguments.query) && seen.add(record.arguments.query)).slice(0, LATELY);
    // Words that find nothing are those that somebody has to do something about.
    lately = await Promise.all(searches.map(async (record) => ({ ...record, found: (await ask(query("tools", { q: record.arguments.query, limit: 1 })).catch(() => null))?.total })));
  }

  async function find(every) {
    finds += 1;
    const mine = finds;
    failure = null;
    try {
      if (!asked.q) {
        found = null;
        await whole.load(every);
        return;
      }
      const answer = await askText(query("tools", { q: asked.q, match: asked.match === "all" ? "all" : "", server: asked.server, as: asked.as, profile: asked.profile, read_only: asked.read_only, explain: "true" }));
      // Of searches that overtake each other the last one counts.
      if (mine !== finds) return;
      [found, text] = [answer.value, answer.text];
      fewer = found.tools.length ? null : await oneThatFinds();
    } catch (error) {
      if (!error.isFinal) throw error;
      [found, failure] = [null, error];
    }
  }

  /** Of several words one that finds something for the same client, the last first. */
  async function oneThatFinds() {
    const words = asked.q.split(/\s+/).filter(Boolean);
    if (words.length < 2) return null;
    for (const word of words.slice(-TRIED).reverse()) {
      const answer = await ask(query("tools", { q: word, limit: 1, server: asked.server, as: asked.as, profile: asked.profile, read_only: asked.read_only }));
      if (answer.total > 0) return word;
    }
    return null;
  }

  async function navigate(now) {
    read(now);
    await find();
  }

  /** The setting that was changed keeps the focus, although it is made anew. */
  async function change(changes) {
    await frame.visit(query("/ui/tools", { ...asked, ...changes }));
    const [key] = Object.keys(changes);
    const again = document.querySelector(`main select[name="${key}"], main input[name="${key}"]:checked`) ?? document.querySelector(`main input[name="${key}"]`);
    again?.focus({ preventScroll: true });
  }

  function settings() {
    const radio = (value, word) => h("label", h("input", { type: "radio", name: "match", value, checked: asked.match === value, on: { change: () => change({ match: value }) } }), word);
    const choose = (key, names, none) => {
      const all = asked[key] && !names.includes(asked[key]) ? [asked[key], ...names] : names;
      return h("select", { name: key, on: { change: (event) => change({ [key]: event.target.value }) } },
        ["", ...all].map((name) => h("option", { value: name, selected: name === asked[key] }, plain(name || none))));
    };
    const readOnly = h("input", { type: "checkbox", name: "read_only", checked: asked.read_only === "true", on: { change: (event) => change({ read_only: event.target.checked ? "true" : "" }) } });
    return h("div.bar", { role: "group", "aria-label": "Search settings", "data-key": `settings ${Object.values({ ...asked, q: asked.q ? "q" : "" }).join(" ")}` },
      asked.q ? h("fieldset.seg", h("legend.sr", "Words"), radio("any", "any word"), radio("all", "all words")) : null,
      h("label", "Server ", choose("server", servers, "all")),
      asked.q ? [h("label", "As ", choose("as", callers.subjects, "you")), h("label", "Profile ", choose("profile", callers.profiles, "none")), h("label", readOnly, " read only")] : null,
      h("span.end.dim.small", { role: "status" }, found ? `${number(found.tools.length)} of ${count(found.total, "match", "matches")}${found.took_us === undefined ? "" : `, ${took(found.took_us)}`}` : ""));
  }

  function render() {
    const title = h("div.title", h("div", h("h1", asked.q ? "An agent’s search" : "Tools"),
      h("p.sub", asked.q ? ["The answer from ", h("code", "retrieve_tools"), " to these words, in the same order, with the reasons for the order."] : `${count(known.length, "tool")} of ${count(servers.length, "server")}. Search for a task to see the tools that an agent would find.`)));
    if (failure) return [title, settings(), refused()];
    return [title, settings(), h("div.cols.wide", found ? ranking() : whole.render(), aside())];
  }

  /** What is wrong with the settings, which can be changed above. */
  function refused() {
    const is = (code) => failure.code === code;
    const { closest } = failure;
    return wrong(failure,
      is("unknown_server") && closest ? button(["Only ", said(closest)], () => change({ server: closest }), "btn small") : null,
      is("unknown_server") ? button("All servers", () => change({ server: "" }), "btn small") : null,
      is("unknown_profile") ? button("No profile", () => change({ profile: "" }), "btn small") : null,
      is("unknown_server") || is("unknown_profile") ? null : go("All tools", "/ui/tools", "btn small"));
  }

  /** Tools with these words that no agent gets, and why. */
  function out() {
    const words = wordsOf(asked.q);
    const has = (tool) => {
      const its = new Set(wordsOf(`${tool.name} ${tool.description}`));
      return asked.match === "all" ? words.every((word) => its.has(word)) : words.some((word) => its.has(word));
    };
    return known.filter((tool) => !tool.callable && (!asked.server || tool.server === asked.server) && has(tool));
  }

  function leftOut() {
    const all = out();
    if (!all.length) return null;
    const one = (tool, i) => [i ? "; " : "", h("a.u", { href: `/ui/tools/${part(tool.name)}` }, h("code", said(tool.name))), tool.reason ? [": ", sentence(tool.reason)] : null];
    return h("details.small", { "data-key": "left out" }, h("summary", `${count(all.length, "matching tool")} ${all.length === 1 ? "is" : "are"} left out`), h("p.hint", all.slice(0, NAMED).map(one), all.length > NAMED ? ` and ${all.length - NAMED} more` : null, "."));
  }

  function ranking() {
    if (!found.tools.length) return nothing();
    const full = found.tools.filter((tool) => tool.inputSchema !== undefined).length;
    const hits = found.tools.map((tool, i) => hit(tool, i, i + 1 === full && full < found.tools.length));
    const cut = full < found.tools.length && full > 0;
    return h("section", { "aria-labelledby": "hits-h" },
      h("header.bar", h("h2", { id: "hits-h" }, "Ranking"), h("p.legend.end", legend("f-name", "name"), legend("f-desc", "description"), legend("f-param", "server and parameters"))),
      found.notice && !found.held ? note("plain", sentence(found.notice), ...needing()) : null,
      leftOut(),
      h("ol", { "data-rows": "" }, hits.slice(0, cut ? full : hits.length)),
      cut ? h("p.cut-note", "The agent gets the full schema of the tools above this line (", h("code", "top_k"), ` ${full}), and only a signature of those below.`) : null,
      cut ? h("ol", { start: full + 1, "data-rows": "" }, hits.slice(full)) : null);
  }

  /** The way to what was not searched. */
  const needing = () => (found.notice && live.status?.problems?.some(needsYou) ? [go("Servers that need you", "/ui/?state=you", "btn small")] : []);

  function nothing() {
    const held = out().filter((tool) => ["tool_held", "tool_changed", "server_quarantined"].includes(tool.code));
    return [leftOut(), empty(found.held ? `No match for “${asked.q}” can be called.` : `No tool matches “${asked.q}”.`, found.held ? "An agent would get no tools." : ["An agent would get no tools, and this advice:", h("p.said", sentence(found.notice ?? ""))],
      held.length ? go(`Review ${held.length === 1 ? held[0].name : count(held.length, "held tool")}`, held.length === 1 ? `/ui/review/${part(held[0].server)}` : "/ui/review") : null,
      ...needing(),
      fewer ? button(`Try “${fewer}”`, () => change({ q: fewer })) : null, go("All tools", "/ui/tools"))];
  }

  function hit(tool, i, isLast) {
    const why = tool.why?.words ?? [];
    const has = why.filter((word) => word.has).length;
    const all = has === why.length ? "all words" : `${has} of ${count(why.length, "word")}`;
    return h(isLast ? "li.hit.cut-line" : "li.hit", { "data-row": "", "data-key": tool.name },
      h("span.n", i + 1),
      h("div", name({ ...tool, call_with: tool.call_with.replace("call_tool_", "") }), h("p.desc", marked(tool.description, why)), h("p.terms", why.map(term))),
      h("div", h("p.score", tool.score.toFixed(2)), stack(tool), h("p.score", h("span.dim", why.length ? all : ""))));
  }

  function aside() {
    if (!found) return h("aside.rail", asks());
    const mine = tokens(new TextEncoder().encode(text).length - excess(found));
    const listed = found.listed;
    const whole = listed ? tokens(listed.characters) : 0;
    const bar = (share, classes) => svg("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { class: classes, width: Math.max(0.5, 100 * share), height: 6 }));
    const most = Math.max(mine, whole, 1);
    const { listed: _, took_us: __, held, notice, ...rest } = exact(text);
    const answer = { ...rest, ...(notice && !held ? { notice } : {}), tools: rest.tools.map(({ why, ...tool }) => tool) };
    return h("aside.rail",
      h("section.sec", { "aria-labelledby": "ans-h" },
        h("header", h("h2", { id: "ans-h" }, "Answer"), copying("Copy JSON", write(answer), "end link")),
        h("div.budget.small", { role: "img", "aria-label": `This answer is about ${number(mine)} tokens; listing all tools would be about ${number(whole)} tokens` },
          h("span", "this answer"), bar(mine / most, "fgd"), h("b", `${number(mine)} tokens`),
          listed ? [h("span.dim", `all ${count(listed.tools, "tool")}`), bar(whole / most, "bgd"), h("span.dim", `${number(whole)} tokens`)] : null),
        json(answer, "JSON of the answer", "code short"),
        h("p.hint", "Estimated at 4 bytes a token.")),
      asks());
  }

  function asks() {
    if (!lately.length) return null;
    return h("section.sec", { "aria-labelledby": "lately-h" }, h("header", h("h2", { id: "lately-h" }, "Recent searches by agents")),
      h("ul.small", lately.map((record) => h("li", h("a.u", { href: query("/ui/tools", { q: record.arguments.query }) }, said(record.arguments.query)), " ", record.found === 0 ? h("span.bad", "finds nothing now ") : null, h("span.dim", said(asker(record)), ", ", at(record.time))))));
  }

  return { get title() { return asked.q ? `${asked.q} · Tools` : "Tools"; }, tab: "tools", filters: Object.keys(asked), waiting: "Searching…", load, navigate, render };
}

const legend = (classes, word) => h("span", h(`i.${classes}`), word);

/** What the explanation adds to the text of the answer, which no agent gets. */
function excess(found) {
  const time = `,"took_us":${found.took_us}`.length;
  const why = found.tools.reduce((sum, tool) => sum + (tool.why ? JSON.stringify(tool.why).length + 7 : 0), 0);
  return why + time + (found.listed ? JSON.stringify(found.listed).length + 10 : 0);
}

const FIELDS = [["name", "name"], ["description", "description"], ["server", "server"], ["parameters", "parameters"]];

function term(word) {
  const parts = FIELDS.filter(([key]) => word[key] > 0).map(([key, shown]) => `${shown} ${word[key].toFixed(2)}`);
  return h("span", h("b", said(word.word)), " ", parts.length ? `${word.has ? "" : "by a similar word: "}${parts.join(", ")}` : "not found");
}

/** The score as a bar, with its shares. */
function stack(tool) {
  const sum = (keys) => (tool.why?.words ?? []).reduce((total, word) => total + keys.reduce((one, key) => one + (word[key] ?? 0), 0), 0);
  const shares = [["f-name", sum(["name"])], ["f-desc", sum(["description"])], ["f-param", sum(["server", "parameters"])]];
  let x = 0;
  const bars = shares.map(([classes, share]) => {
    const width = Math.min(148 - x, 148 * share);
    const bar = width > 0 && svg(`rect.${classes}`, { x: x.toFixed(1), width: width.toFixed(1), height: 6 });
    x += width;
    return bar;
  });
  return svg("svg.stack", { viewBox: "0 0 148 6", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect.bgd", { width: 148, height: 6 }), bars);
}

const wordsOf = (text) => text.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 1).map(stem);

/** Words that end otherwise are taken for the same: `issue` and `issues`. */
const stem = (word) => word.toLowerCase().replace(/(?:ings?|ed|es|s|e)$/, "");

function marked(description, why) {
  const stems = why.filter((word) => word.description > 0).map((word) => stem(word.word)).filter((one) => one.length > 1);
  if (!stems.length) return said(description);
  return description.split(/([\p{L}\p{N}]+)/u).map((piece, i) => (i % 2 && stems.includes(stem(piece)) ? h("mark", piece) : said(piece)));
}
