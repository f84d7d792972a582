// Which place an address is.

import { access } from "./access.js";
import { activity } from "./activity.js";
import { add } from "./add.js";
import { clientsPlace } from "./clients_place.js";
import { edit } from "./edit.js";
import { login } from "./login.js";
import { overview } from "./overview.js";
import { review } from "./review.js";
import { search } from "./search.js";
import { server } from "./server.js";
import { settings } from "./settings.js";
import { stories, story } from "./story.js";
import { tool } from "./tool.js";
import { usage } from "./usage.js";
import { h } from "./dom.js";
import { empty, go } from "./parts.js";
import { capital, closest, said } from "./words.js";

const nowhere = () => ({
  title: "Not found",
  render: () => {
    const place = closest(location.pathname.split("/")[2] ?? "", PLACES);
    return [h("h1", "Not found"), empty("No page has this address.", place ? ["Did you mean ", h("a.u", { href: `/ui/${place}` }, capital(place)), "?"] : ["The address ", h("code", said(location.pathname)), " may belong to another version of mcpproxy."], go("Servers", "/ui/"))];
  },
});

const PLACES = ["access", "activity", "add", "clients", "review", "servers", "settings", "tools", "usage"];

/** A place: `{title, tab, filters?, load, render, refresh?, navigate?, leave?, escape?, painted?}`. `frame` is `{visit, rename, paint, soon}`. */
export function placeOf(address, frame) {
  const parts = address.pathname.replace(/^\/ui\/?/, "").split("/").filter(Boolean).map(decoded);
  const query = address.searchParams;
  const [first, second, third] = parts;
  switch (first) {
    case undefined: return overview(query, frame);
    case "add":
      if (second === "form" && parts.length === 2) return edit(null, frame);
      return parts.length === 1 ? add(frame) : nowhere();
    case "servers":
      if (parts.length === 2) return server(second, frame, query);
      if (third === "edit") return edit(second, frame);
      if (third === "login") return login(second, frame);
      return parts.length === 1 ? overview(query, frame) : nowhere();
    case "tools": return parts.length === 1 ? search(query, frame) : tool(parts.slice(1).join("/"), frame, query);
    case "review": return review(second ?? null, frame);
    case "activity":
      if (second === "session" && parts.length <= 3) return third ? story(third, query, frame) : stories(frame);
      return activity(second ?? null, query, frame);
    case "clients": return clientsPlace(frame);
    case "access": return parts.length === 1 ? access(query, frame) : nowhere();
    case "usage": return usage(query, frame);
    case "settings": return settings(query, frame);
    default: return nowhere();
  }
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
