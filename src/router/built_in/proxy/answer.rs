//! The answers of `proxy` (seed 001, section 3): definitions as one embedded resource, and the answers of servers with annotations that say
//! what was called. What a server wrote stays byte for byte, except the members that this file names. Pure.

use percent_encoding::{AsciiSet, utf8_percent_encode};
use serde_json::{Value, json};

use super::arguments::ProxyType;
use crate::{
    text::percent::UNRESERVED,
    wire::{Edit, Raw, result_type, splice},
};

const JSON: &str = "application/json";

/// The characters that our URIs do not encode: those of paths (RFC 3986, 3.3).
const IN_PATHS: &AsciiSet = &UNRESERVED
    .remove(b'/')
    .remove(b':')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// A result with JSON as its one embedded resource.
fn embedded(uri: &str, json: &Raw, annotations: &Value) -> Raw {
    Raw::author(&json!({
        "content": [{
            "type": "resource",
            "resource": { "uri": uri, "mimeType": JSON, "text": json.as_str() },
            "annotations": annotations,
        }],
    }))
}

/// The answer to `list`: an array of definitions.
pub(super) fn list(kind: ProxyType, definitions: &Raw) -> Raw {
    let python_type = match kind {
        ProxyType::Tool => "Tool",
        ProxyType::Resource => "Resource|ResourceTemplate",
        ProxyType::Prompt => "Prompt",
    };
    let kind = kind.as_str();
    let annotations = json!({
        "proxyAction": "list",
        "proxyType": kind,
        "pythonType": python_type,
        "many": true,
    });
    embedded(&format!("proxy:list/{kind}"), definitions, &annotations)
}

/// The answer to `info`: one definition, and the type that it has in the Python SDK.
pub(super) fn info(kind: ProxyType, path: &str, python_type: &str, definition: &Raw) -> Raw {
    let kind = kind.as_str();
    let annotations = json!({
        "proxyAction": "info",
        "proxyType": kind,
        "proxyPath": path,
        "pythonType": python_type,
        "many": false,
    });
    let uri = format!("proxy:info/{kind}/{}", utf8_percent_encode(path, IN_PATHS));
    embedded(&uri, definition, &annotations)
}

/// The result of a tool, each of its items with the annotations of the call added to its own.
pub(super) fn of_tool(result: &Raw, path: &str) -> Raw {
    let content = result.get("content").filter(is_array);
    let Some(content) = content else {
        return result.clone();
    };
    let added = annotations(ProxyType::Tool, path);
    let items: Vec<Raw> = content
        .elements()
        .map(|item| edited(&item, &[("annotations", Edit::Within(&added))]))
        .collect();
    edited(result, &[("content", Edit::Set(Raw::array(&items)))])
}

/// The content of a resource as the result of a tool: each part as an embedded resource. All other members of the result stay.
pub(super) fn of_resource(result: &Raw, uri: &str) -> Raw {
    let contents = result.get("contents");
    let added = annotations(ProxyType::Resource, uri);
    let items: Vec<Raw> = contents
        .iter()
        .flat_map(Raw::elements)
        .map(|part| {
            let item = [
                ("type", Edit::Set(Raw::author(&"resource"))),
                ("resource", Edit::Set(objectified(&part))),
                ("annotations", Edit::Within(&added)),
            ];
            edited(&Raw::empty_object(), &item)
        })
        .collect();
    let edits = [
        ("contents", Edit::Remove),
        ("content", Edit::Set(Raw::array(&items))),
    ];
    edited(result, &edits)
}

/// A prompt: its JSON as an embedded resource.
pub(super) fn of_prompt(result: &Raw, path: &str) -> Raw {
    let annotations = json!({
        "proxyType": "prompt",
        "proxyAction": "call",
        "proxyPath": path,
        "pythonType": "GetPromptResult",
    });
    let uri = format!("proxy:call/prompt/{}", utf8_percent_encode(path, IN_PATHS));
    embedded(&uri, result, &annotations)
}

/// Whether a result is the answer itself, and not a question or a task.
pub(super) fn is_complete(result: &Raw) -> bool {
    result_type::of(result).is_none_or(|kind| kind == result_type::COMPLETE)
}

fn annotations(kind: ProxyType, path: &str) -> [(&'static str, Edit<'static>); 3] {
    [
        ("proxyType", Edit::Set(Raw::author(&kind.as_str()))),
        ("proxyAction", Edit::Set(Raw::author(&"call"))),
        ("proxyPath", Edit::Set(Raw::author(&path))),
    ]
}

/// A part of a resource. If its text is JSON, the text loses its blanks, and the stated MIME type moves to `contentType`.
fn objectified(part: &Raw) -> Raw {
    let text = part.get("text").and_then(|text| text.string());
    let Some(json) = text.and_then(|text| Raw::parse_str(&text).ok()) else {
        return part.clone();
    };
    let text = without_blanks(json.as_str());
    let mime_type = part.get("mimeType").filter(|stated| !stated.is_null());
    let mut edits = vec![
        ("mimeType", Edit::Set(Raw::author(&JSON))),
        ("text", Edit::Set(Raw::author(&text))),
    ];
    edits.extend(mime_type.map(|stated| ("contentType", Edit::Set(stated))));
    edited(part, &edits)
}

/// JSON without the blanks between its tokens, otherwise byte for byte.
fn without_blanks(json: &str) -> String {
    let (mut in_string, mut is_escaped) = (false, false);
    let is_kept = |c: &char| {
        if in_string {
            let ends = *c == '"' && !is_escaped;
            is_escaped = *c == '\\' && !is_escaped;
            in_string = !ends;
            return true;
        }
        in_string = *c == '"';
        !c.is_ascii_whitespace()
    };
    json.chars().filter(is_kept).collect()
}

fn is_array(value: &Raw) -> bool {
    value.as_bytes().first() == Some(&b'[')
}

fn edited(object: &Raw, edits: &[(&str, Edit<'_>)]) -> Raw {
    splice(object, edits).unwrap_or_else(|_| object.clone())
}

#[cfg(test)]
mod tests;
