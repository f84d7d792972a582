// Makes elements out of words. Texts become text nodes and nothing else: there is no way in for markup, scripts or styles.

const SVG = "http://www.w3.org/2000/svg";

/** Attributes that may be set. What could run or load something is not among them; `href` and `src` are looked at below. */
const KNOWN = new Set([
  "id", "class", "title", "role", "tabindex", "hidden", "lang", "dir", "alt", "name", "type", "value", "placeholder", "checked", "selected",
  "disabled", "required", "readonly", "autocomplete", "spellcheck", "inputmode", "min", "max", "step", "maxlength", "rows", "for", "action",
  "scope", "colspan", "span", "start", "datetime", "open", "download", "target", "rel", "novalidate", "multiple", "accept",
  "viewBox", "preserveAspectRatio", "x", "y", "width", "height", "autofocus", "size", "label",
]);

/** An address of a login elsewhere: the only ones that leave this origin. */
export function outside(text) {
  const address = new URL(text);
  if (address.protocol !== "https:" && address.protocol !== "http:") throw new Error("no web address");
  return { outside: address.href };
}

const IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*$/;
const DOWNLOAD = /^blob:/;

function address(name, value) {
  if (name === "href" && typeof value === "object") return value.outside;
  const text = String(value);
  const ours = /^(?:\/(?!\/)|#|\?)/.test(text);
  if (name === "href" && (ours || DOWNLOAD.test(text))) return text;
  if (name === "src" && IMAGE.test(text)) return text;
  throw new Error(`not an address that may stand in ${name}`);
}

function attribute(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  const text = value === true ? "" : String(value);
  if (name === "href" || name === "src") element.setAttribute(name, address(name, value));
  else if (KNOWN.has(name) || name.startsWith("aria-") || name.startsWith("data-")) element.setAttribute(name, text);
  else throw new Error(`no attribute ${name} here`);
}

const handlers = new WeakMap();

function dispatch(event) {
  handlers.get(event.currentTarget)?.[event.type]?.call(event.currentTarget, event);
}

function listen(element, on) {
  const known = handlers.get(element) ?? {};
  for (const type of Object.keys(on)) if (!known[type]) element.addEventListener(type, dispatch);
  handlers.set(element, on);
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === true) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

function make(element, spec, rest) {
  const classes = spec.split(".").slice(1);
  const [first] = rest;
  const has = first !== null && typeof first === "object" && !(first instanceof Node) && !Array.isArray(first);
  const { on, ...attributes } = has ? first : {};
  const given = attributes.class ? String(attributes.class).split(" ") : [];
  delete attributes.class;
  const all = [...classes, ...given].filter(Boolean);
  if (all.length) element.setAttribute("class", all.join(" "));
  for (const [name, value] of Object.entries(attributes)) attribute(element, name, value);
  if (on) listen(element, on);
  append(element, has ? rest.slice(1) : rest);
  return element;
}

/** `h("a.btn.small", { href: "/ui/", on: { click } }, "text", node, …)`: children are nodes, texts, or lists of them. */
export function h(spec, ...rest) {
  return make(document.createElement(spec.split(".")[0]), spec, rest);
}

/** The same for drawings. */
export function svg(spec, ...rest) {
  return make(document.createElementNS(SVG, spec.split(".")[0]), spec, rest);
}

/** A symbol of the sprite. */
export function icon(name, turning = false) {
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#${name}`);
  return svg(`svg.i${turning ? ".turn" : ""}`, { "aria-hidden": "true" }, use);
}

/** Nodes in the place of what was in an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

const sameKind = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

/** What is kept is found among its siblings without a key, too. */
function keyOf(node) {
  const of = stands.get(node) ?? node;
  return of.getAttribute?.("data-key") ?? (of.hasAttribute?.("data-kept") ? `kept ${of.nodeName} ${of.id}` : null);
}

/** Which shown element a stand-in is for. */
const stands = new WeakMap();

/** An element that is made once and stays as it is while the rest is drawn anew: itself, or a stand-in where it is shown. */
export function kept(element) {
  if (!element.isConnected) return element;
  const stand = h(element.localName, { "data-kept": "" });
  stands.set(stand, element);
  return stand;
}

/** A node that comes new, with what its stand-ins are for. */
function whole(node) {
  if (stands.has(node)) return stands.get(node);
  for (const one of node.querySelectorAll?.("[data-kept]") ?? []) if (stands.has(one)) one.replaceWith(stands.get(one));
  return node;
}

/** The children with a key; those that share one in their order. */
function keyed(parent) {
  const found = new Map();
  for (const node of parent.childNodes) {
    const key = keyOf(node);
    if (key !== null) found.set(key, [...(found.get(key) ?? []), node]);
  }
  return found;
}

/** What a person has changed stays: values, open details, scroll positions. A tick that is drawn otherwise than before does not. */
function attributes(old, now) {
  if (old.hasAttribute("checked") !== now.hasAttribute("checked")) old.checked = now.hasAttribute("checked");
  for (const { name } of [...old.attributes]) {
    if (!now.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of now.attributes) {
    if (name === "open" && old.nodeName === "DETAILS") continue;
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

/** Makes `old` like `now` with as few changes as it takes, so that focus, selection and scrolling stay. */
export function morph(old, now) {
  if (!sameKind(old, now)) {
    const next = whole(now);
    old.replaceWith(next);
    return next;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== now.data) old.data = now.data;
    return old;
  }
  if (old.hasAttribute("data-kept") && now.hasAttribute("data-kept")) return old;
  attributes(old, now);
  if (handlers.has(now)) listen(old, handlers.get(now));
  const wanted = [...now.childNodes];
  const rest = keyed(old);
  let at = old.firstChild;
  for (const child of wanted) {
    const known = rest.get(keyOf(child))?.shift();
    if (known && known !== at && known.parentNode === old) old.insertBefore(known, at);
    const here = known ?? at;
    if (here && sameKind(here, child)) {
      if (here === at) at = at.nextSibling;
      morph(here, child);
    } else {
      old.insertBefore(whole(child), at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
  return old;
}
