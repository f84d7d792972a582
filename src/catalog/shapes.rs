//! Checks the types in definitions (schemas of the revisions: `Tool`, `Prompt`, `Resource`, `ResourceTemplate`). Many clients refuse a whole
//! list because of one wrong type in it, and would lose the definitions of every other server. Pure.

use crate::wire::Raw;

/// Limit: levels that a definition may nest. Readers of JSON give up at 128 and more, and lists and results stand around it.
const DEEPEST: usize = 100;

/// The type of a member, if the member is there.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Text,
    Flag,
    Number,
    Object(&'static [(&'static str, Shape)]),
    /// A JSON schema whose `type`, if it has one, is `object`.
    Schema,
    Array(&'static Shape),
}

use Shape::{Array, Flag, Number, Object, Schema, Text};

const ANY_OBJECT: Shape = Object(&[]);

const ICONS: Shape = Array(&Object(&[("src", Text), ("mimeType", Text)]));

/// The keys of a tool.
pub(super) const TOOL: &[(&str, Shape)] = &[
    ("title", Text),
    ("description", Text),
    ("inputSchema", Schema),
    ("outputSchema", ANY_OBJECT),
    (
        "annotations",
        Object(&[
            ("title", Text),
            ("readOnlyHint", Flag),
            ("destructiveHint", Flag),
            ("idempotentHint", Flag),
            ("openWorldHint", Flag),
        ]),
    ),
    ("icons", ICONS),
    ("execution", ANY_OBJECT),
    ("_meta", ANY_OBJECT),
];

/// The keys of a prompt.
pub(super) const PROMPT: &[(&str, Shape)] = &[
    ("title", Text),
    ("description", Text),
    (
        "arguments",
        Array(&Object(&[
            ("name", Text),
            ("title", Text),
            ("description", Text),
            ("required", Flag),
        ])),
    ),
    ("icons", ICONS),
    ("_meta", ANY_OBJECT),
];

/// The keys of a resource and of a template.
pub(super) const RESOURCE: &[(&str, Shape)] = &[
    ("name", Text),
    ("title", Text),
    ("description", Text),
    ("mimeType", Text),
    ("size", Number),
    ("annotations", ANY_OBJECT),
    ("icons", ICONS),
    ("_meta", ANY_OBJECT),
];

/// Checks a definition. The error says what clients cannot read. A null counts as absent.
pub(super) fn check(definition: &Raw, keys: &'static [(&str, Shape)]) -> Result<(), String> {
    if definition.is_deeper_than(DEEPEST) {
        return Err(format!("it nests deeper than {DEEPEST} levels"));
    }
    if definition.has_lone_surrogate() {
        return Err(
            "it contains an escape of half a character (a lone surrogate, such as \\ud800)"
                .to_owned(),
        );
    }
    check_members("", definition, keys)
}

/// Checks the members of an object; `place` is its path with a dot, or nothing.
fn check_members(place: &str, object: &Raw, keys: &'static [(&str, Shape)]) -> Result<(), String> {
    keys.iter().try_for_each(|(key, shape)| {
        let value = object.get(key).filter(|value| !value.is_null());
        value.map_or(Ok(()), |value| {
            check_shape(&format!("{place}{key}"), &value, *shape)
        })
    })
}

fn check_shape(place: &str, value: &Raw, shape: Shape) -> Result<(), String> {
    let first = value.as_bytes().first().copied().unwrap_or_default();
    let is = |fits: bool, what: &str| {
        if fits {
            Ok(())
        } else {
            Err(format!("{place} is not {what}"))
        }
    };
    match shape {
        Text => is(first == b'"', "a string"),
        Flag => is(matches!(first, b't' | b'f'), "true or false"),
        Number => is(first == b'-' || first.is_ascii_digit(), "a number"),
        Object(keys) => {
            is(first == b'{', "an object")?;
            check_members(&format!("{place}."), value, keys)
        }
        Schema => {
            is(first == b'{', "an object")?;
            match value.get("type") {
                Some(kind) if kind.string().as_deref() != Some("object") => {
                    Err(format!("{place} has a type other than \"object\""))
                }
                _ => Ok(()),
            }
        }
        Array(of) => {
            is(first == b'[', "an array")?;
            let mut elements = value.elements().enumerate();
            elements
                .try_for_each(|(n, element)| check_shape(&format!("{place}[{n}]"), &element, *of))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str, keys: &'static [(&str, Shape)]) -> Result<(), String> {
        check(&Raw::parse_str(text).expect("JSON"), keys)
    }

    #[test]
    fn what_clients_can_read_passes() {
        for tool in [
            r#"{"name":"a","inputSchema":{}}"#,
            r#"{"name":"a","inputSchema":{"type":"object"},"title":null,"annotations":{"readOnlyHint":true,"x":7},"_meta":{"a":[]}}"#,
            r#"{"name":"a\ud83d\ude00\\ud800","inputSchema":{},"icons":[{"src":"data:,"}],"outputSchema":{"type":"array"},"own":7}"#,
        ] {
            assert_eq!(verdict(tool, TOOL), Ok(()), "{tool}");
        }
        let prompt = r#"{"name":"a","arguments":[{"name":"b","required":false}]}"#;
        assert_eq!(verdict(prompt, PROMPT), Ok(()));
        let resource = r#"{"uri":"a:b","name":"c","size":-1.5e3,"mimeType":"text/plain"}"#;
        assert_eq!(verdict(resource, RESOURCE), Ok(()));
    }

    #[test]
    fn what_would_cost_a_client_the_whole_list_is_named() {
        let nested = |levels: usize| {
            let (open, close) = (r#"{"a":"#.repeat(levels), "}".repeat(levels));
            format!(r#"{{"inputSchema":{open}1{close}}}"#)
        };
        assert_eq!(verdict(&nested(DEEPEST - 1), TOOL), Ok(()));
        for (tool, expected) in [
            (
                r#"{"inputSchema":{"type":"string"}}"#,
                "inputSchema has a type other than \"object\"",
            ),
            (
                r#"{"inputSchema":{"type":["object"]}}"#,
                "inputSchema has a type other than \"object\"",
            ),
            (r#"{"annotations":[]}"#, "annotations is not an object"),
            (
                r#"{"annotations":{"readOnlyHint":"banana"}}"#,
                "annotations.readOnlyHint is not true or false",
            ),
            (r#"{"title":7}"#, "title is not a string"),
            (r#"{"outputSchema":"x"}"#, "outputSchema is not an object"),
            (r#"{"_meta":[]}"#, "_meta is not an object"),
            (r#"{"icons":"x"}"#, "icons is not an array"),
            (r#"{"icons":[7]}"#, "icons[0] is not an object"),
            (
                r#"{"icons":[{},{"src":5}]}"#,
                "icons[1].src is not a string",
            ),
            (r#"{"execution":3}"#, "execution is not an object"),
            (
                r#"{"description":"\ud800"}"#,
                "it contains an escape of half a character (a lone surrogate, such as \\ud800)",
            ),
            (
                r#"{"description":"\udc00\ud800"}"#,
                "it contains an escape of half a character (a lone surrogate, such as \\ud800)",
            ),
            (&*nested(DEEPEST), "it nests deeper than 100 levels"),
        ] {
            assert_eq!(verdict(tool, TOOL), Err(expected.to_owned()), "{tool}");
        }
        let prompt = verdict(r#"{"arguments":{}}"#, PROMPT);
        assert_eq!(prompt, Err("arguments is not an array".to_owned()));
        let resource = verdict(r#"{"mimeType":5}"#, RESOURCE);
        assert_eq!(resource, Err("mimeType is not a string".to_owned()));
    }
}
