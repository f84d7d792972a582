// What came of a call: texts, images, resources, structured content, and what went wrong. All of it is a stranger's.

import { part } from "./api.js";
import { h } from "./dom.js";
import { write, written } from "./exact.js";
import { copying, failed, go, json, note, textBox } from "./parts.js";
import { step } from "./record_drawer.js";
import { bytes, count, said, timeOf, tokens, took } from "./words.js";

/** Images that are shown. Others are named. */
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Limit: characters of a text that is laid out as JSON. */
const LAID_OUT = 200_000;

/** What stands around a result where it comes as JSON. */
const AROUND = /^\{(?:"server":.*?\},)?"(?:result|rpc_error)":/;

/** The tokens of a result, counted as its record counts them: of its bytes, without what this page gets around it. */
const tokensOf = (text) => tokens(new TextEncoder().encode(text.trim()).length - (AROUND.exec(text)?.[0].length ?? -1) - 1);

const sizeOf = (base64) => Math.floor((String(base64).length * 3) / 4);

/** `{answer, text, failure, began, ms}` as a section. */
export function resultSection({ answer, text, failure, isWithdrawn, began, ms }) {
  const said = [timeOf(began), `, ${took(ms * 1000)}`, text ? `, ≈ ${count(tokensOf(text), "token")}` : ""];
  return h("section.sec", { "aria-labelledby": "res-h", "aria-live": "polite" },
    h("header", h("h2", { id: "res-h" }, "Result"), h("p", said), text ? copying("Copy JSON", text, "end link small") : null),
    isWithdrawn ? note("plain", "Cancelled. mcpproxy told the server; the call may have run in part.") : failure ? failed(failure, step(failure)) : shown(answer));
}

function shown(answer) {
  if (answer.rpc_error) {
    const log = answer.step?.do === "read_log" ? go("Open log", `/ui/servers/${part(answer.server)}#log`, "btn small") : null;
    return [note("err", [h("b", said(answer.server ?? "The server"), " answered with an error. "), said(answer.rpc_error.message ?? "")], log), json(answer.rpc_error, "Error")];
  }
  const { result } = answer;
  if (!result || !Array.isArray(result.content)) return json(result ?? answer, "Result");
  return [
    result.isError ? note("err", h("b", "The tool reports an error:")) : null,
    result.content.map((item, i) => h("div.item", content(item, i))),
    result.content.length ? null : h("p.dim", "No content."),
    result.structuredContent === undefined ? null : isTwin(result.content, result.structuredContent) ? h("p.hint", "The structured content is the same.") : h("div.item", h("h3", "Structured content"), json(result.structuredContent, "Structured content")),
  ];
}

/** Whether the text says what the structured content does: servers give both, for clients that know only one. */
function isTwin([item, ...others], structured) {
  if (others.length || item?.type !== "text" || typeof item.text !== "string" || item.text.length > LAID_OUT) return false;
  const whole = write(structured);
  const { value } = written(item.text);
  return whole === write({ result: item.text }) || (value !== undefined && [write(value), write({ result: value })].includes(whole));
}

function content(item, i) {
  switch (item?.type) {
    case "text": return textOf(String(item.text ?? ""), `Text ${i + 1}`);
    case "image": return image(item, i);
    case "audio": return h("p", h("span.kind", "audio"), " ", said(item.mimeType ?? ""), `, ${bytes(sizeOf(item.data ?? ""))}; this page does not play audio`);
    case "resource": return resource(item.resource ?? {}, i);
    case "resource_link":
      return h("p", h("span.kind", "resource"), " ", said(item.title ?? item.name ?? ""), " ", h("code", said(item.uri ?? "")), item.description ? h("span.dim", " ", said(item.description)) : null);
    default: return json(item, `Content ${i + 1}`);
  }
}

function textOf(text, label) {
  const start = text.trimStart()[0];
  if ((start === "{" || start === "[") && text.length <= LAID_OUT) {
    // What only looks like JSON, or has a name twice, is shown as it came.
    const { value } = written(text);
    if (value !== undefined) return json(value, label);
  }
  return textBox(text, label);
}

function image(item, i) {
  const { mimeType, data } = item;
  const named = (why) => h("p", h("span.kind", "image"), " ", said(mimeType ?? "no type"), `, ${bytes(sizeOf(data ?? ""))}, ${why}`);
  if (!IMAGES.includes(mimeType)) return named("not shown: this page cannot display images of this type");
  try {
    return h("figure.image", h("img", { src: `data:${mimeType};base64,${data}`, alt: `Image ${i + 1} of the result` }), h("figcaption.hint", `${mimeType}, ${bytes(sizeOf(data))}`));
  } catch {
    return named("not shown: the data is not a valid image");
  }
}

function resource(of, i) {
  const head = h("p", h("span.kind", "resource"), " ", h("code", said(of.uri ?? "")), " ", h("span.dim", said(of.mimeType ?? "")));
  if (typeof of.text === "string") return [head, textOf(of.text, `Resource ${i + 1}`)];
  if (typeof of.blob === "string" && IMAGES.includes(of.mimeType)) return [head, image({ mimeType: of.mimeType, data: of.blob }, i)];
  return [head, h("p.hint", of.blob ? `${bytes(sizeOf(of.blob))} of data that this page does not show` : "no content")];
}
