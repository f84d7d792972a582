//! The answers of `proxy` (seed 001, section 3): definitions as one embedded resource, and what servers answered with the annotations
//! that say what was called. Pure. What a server wrote stays as it is but for the members that are named here.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde_json::json;

use super::arguments::ProxyType;
use crate::wire::{Edit, Raw, result_type, splice};

const JSON: &str = "application/json";

/// What stands in our URIs as it is: what may stand in a path (RFC 3986, 3.3).
const IN_PATHS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
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

/// A result with one embedded resource.
#[derive(Serialize)]
struct EmbeddedResult<'a> {
    content: [Embedded<'a>; 1],
}

#[derive(Serialize)]
struct Embedded<'a> {
    r#type: &'static str,
    resource: JsonText<'a>,
    annotations: serde_json::Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonText<'a> {
    uri: String,
    mime_type: &'static str,
    text: &'a str,
}

fn embedded(uri: String, text: &Raw, annotations: serde_json::Value) -> Raw {
    Raw::author(&EmbeddedResult {
        content: [Embedded {
            r#type: "resource",
            resource: JsonText {
                uri,
                mime_type: JSON,
                text: text.as_str(),
            },
            annotations,
        }],
    })
}

/// Everything of a kind: an array of definitions.
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
    embedded(format!("proxy:list/{kind}"), definitions, annotations)
}

/// One definition, which is of this type.
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
    embedded(uri, definition, annotations)
}

/// The result of a tool, each item of it with its annotations. Audience, priority and whatever else stands there stay.
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

/// What was read of a resource, each part of it as an embedded resource. Everything beside the parts stays.
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

/// A prompt as its JSON in an embedded resource.
pub(super) fn of_prompt(result: &Raw, path: &str) -> Raw {
    let annotations = json!({
        "proxyType": "prompt",
        "proxyAction": "call",
        "proxyPath": path,
        "pythonType": "GetPromptResult",
    });
    let uri = format!("proxy:call/prompt/{}", utf8_percent_encode(path, IN_PATHS));
    embedded(uri, result, annotations)
}

/// Whether a result is the answer, and not a question or a task that leads to one.
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

/// A part whose text is JSON, with that written without blanks, and the MIME type that it had as `contentType`. Any other part as it is.
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

/// JSON without the blanks between its tokens. Numbers, escapes and the order of members stay.
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
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw {
        Raw::parse_str(text).expect("JSON")
    }

    #[track_caller]
    fn check(made: &Raw, expected: &str) {
        assert_eq!(made.as_str(), expected);
    }

    #[test]
    fn lists_and_definitions_are_one_embedded_resource() {
        check(
            &list(ProxyType::Tool, &raw("[]")),
            r#"{"content":[{"type":"resource","resource":{"uri":"proxy:list/tool","mimeType":"application/json","text":"[]"},"annotations":{"proxyAction":"list","proxyType":"tool","pythonType":"Tool","many":true}}]}"#,
        );
        check(
            &info(
                ProxyType::Resource,
                "doc://ä b/{id}",
                "ResourceTemplate",
                &raw(r#"{"n":1.10}"#),
            ),
            r#"{"content":[{"type":"resource","resource":{"uri":"proxy:info/resource/doc://%C3%A4%20b/%7Bid%7D","mimeType":"application/json","text":"{\"n\":1.10}"},"annotations":{"proxyAction":"info","proxyType":"resource","proxyPath":"doc://ä b/{id}","pythonType":"ResourceTemplate","many":false}}]}"#,
        );
    }

    #[test]
    fn results_of_tools_keep_everything_else() {
        let added = r#""proxyType":"tool","proxyAction":"call","proxyPath":"s__t""#;
        let result = raw(concat!(
            r#"{"structuredContent":{"n":1.10}, "content":[{"type":"text","text":"\u0038"},"#,
            r#"{"type":"image","annotations":{"audience":["user"],"priority":0.50,"proxyPath":"other"},"data":""},"#,
            r#"{"type":"video","annotations":null},7],"isError":true,"_meta":{"a/b":1e400}}"#
        ));
        let expected = [
            r#"{"structuredContent":{"n":1.10}, "content":[{"type":"text","text":"\u0038","annotations":{"#,
            added,
            r#"}},{"type":"image","annotations":{"audience":["user"],"priority":0.50,"proxyPath":"s__t","proxyType":"tool","proxyAction":"call"},"data":""},"#,
            r#"{"type":"video","annotations":{"#,
            added,
            r#"}},7],"isError":true,"_meta":{"a/b":1e400}}"#,
        ];
        check(&of_tool(&result, "s__t"), &expected.concat());
        for odd in [
            "{}",
            r#"{"content":null}"#,
            r#"{"content":{}}"#,
            r#"{"content":[]}"#,
        ] {
            check(&of_tool(&raw(odd), "s__t"), odd);
        }
    }

    #[test]
    fn parts_of_resources_become_items() {
        let check = |part: &str, expected: &str| {
            let result = raw(&format!(
                r#"{{"_meta":{{"x":1}},"contents":[{part}],"y":2.0}}"#
            ));
            let expected = format!(
                r#"{{"_meta":{{"x":1}},"y":2.0,"content":[{{"type":"resource","resource":{expected},"annotations":{{"proxyType":"resource","proxyAction":"call","proxyPath":"r://1"}}}}]}}"#
            );
            assert_eq!(of_resource(&result, "r://1").as_str(), expected, "{part}");
        };
        check(
            r#"{"uri":"r://1","mimeType":"text/plain","text":"{ \"key\" :\n\t\"va lue\" }"}"#,
            r#"{"uri":"r://1","mimeType":"application/json","text":"{\"key\":\"va lue\"}","contentType":"text/plain"}"#,
        );
        check(
            r#"{"uri":"r://1","text":" [1.10, 12345678901234567890] ","_meta":{"n":1.0}}"#,
            r#"{"uri":"r://1","text":"[1.10,12345678901234567890]","_meta":{"n":1.0},"mimeType":"application/json"}"#,
        );
        for unchanged in [
            r#"{"uri":"r://1","mimeType":"image/png","blob":"e30="}"#,
            r#"{"uri":"r://1","mimeType":"text/plain","text":"no JSON {}"}"#,
            r#"{"uri":"r://1","mimeType":"text/plain","text":""}"#,
            r#"{"uri":"r://1","mimeType":"application/json","text":"{\"a\":"}"#,
            r#"{"uri":"r://1","text":7}"#,
        ] {
            check(unchanged, unchanged);
        }
        let none = raw(r#"{"contents":[]}"#);
        assert_eq!(of_resource(&none, "r://1").as_str(), r#"{"content":[]}"#);
    }

    #[test]
    fn blanks_in_strings_stay() {
        let check = |json: &str, expected: &str| {
            assert_eq!(without_blanks(json), expected);
            assert!(Raw::parse_str(expected).is_ok(), "{expected}");
        };
        check(
            "{ \"a \\\" b\" : \"\\\\\" , \"c\" : [ 1 ,\r\n2 ] }",
            r#"{"a \" b":"\\","c":[1,2]}"#,
        );
        check(r#" "ä ö" "#, r#""ä ö""#);
        check("  null ", "null");
    }

    #[test]
    fn a_prompt_is_wrapped_whole() {
        let result = raw(r#"{"messages":[],"description":"d","_meta":{"n":1.10}}"#);
        check(
            &of_prompt(&result, "s__p"),
            r#"{"content":[{"type":"resource","resource":{"uri":"proxy:call/prompt/s__p","mimeType":"application/json","text":"{\"messages\":[],\"description\":\"d\",\"_meta\":{\"n\":1.10}}"},"annotations":{"proxyType":"prompt","proxyAction":"call","proxyPath":"s__p","pythonType":"GetPromptResult"}}]}"#,
        );
    }

    #[test]
    fn questions_and_tasks_are_not_answers() {
        assert!(is_complete(&raw("{}")));
        assert!(is_complete(&raw(r#"{"resultType":"complete"}"#)));
        assert!(!is_complete(&raw(r#"{"resultType":"input_required"}"#)));
        assert!(!is_complete(&raw(r#"{"resultType":"task"}"#)));
    }
}
