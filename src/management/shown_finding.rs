//! A finding of the scanner for people: what it means, why it matters, and where it stands in words. Pure.

use serde::{Deserialize, Serialize};

use crate::{
    text::secret::Secrets,
    trust::scanner::{self, Finding, Severity},
};

/// A finding of the scanner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ShownFinding {
    /// The rule.
    pub rule: String,
    /// The finding in words.
    #[serde(default)]
    pub meaning: String,
    /// Why it matters, in a sentence.
    #[serde(default)]
    pub why: String,
    /// `remark` (minor) or `hold` (dangerous).
    #[schemars(with = "String")]
    pub severity: Severity,
    /// The place, a JSON pointer into the definition.
    pub place: String,
    /// The place in words, such as `the description of parameter path`.
    #[serde(default)]
    pub place_in_words: String,
    /// The text, escaped.
    pub excerpt: String,
    /// The part of the excerpt that the rule found; absent if it is the whole excerpt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<MarkedPart>,
    /// The tool (`server:tool`) or server that a name resembles, in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
}

/// A part of a text, in characters counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MarkedPart {
    /// The first character.
    pub start: usize,
    /// The character after the last.
    pub end: usize,
}

impl From<Finding> for ShownFinding {
    fn from(finding: Finding) -> Self {
        Self {
            rule: finding.rule.to_owned(),
            meaning: scanner::in_words(finding.rule).to_owned(),
            why: scanner::why(finding.rule).to_owned(),
            severity: finding.severity,
            place_in_words: place_in_words(&finding.place),
            place: finding.place,
            excerpt: finding.excerpt,
            marked: finding.marked.map(|part| MarkedPart {
                start: part.start,
                end: part.end,
            }),
            like: finding.like,
        }
    }
}

/// Findings for people, without secrets.
pub(super) fn shown_findings(secrets: &Secrets, findings: Vec<Finding>) -> Vec<ShownFinding> {
    let findings = findings.into_iter();
    let findings = findings.map(|finding| finding.without(secrets));
    findings.map(ShownFinding::from).collect()
}

/// A JSON pointer into a definition in words, such as `the description of parameter path`; empty for the pointer to the whole definition.
fn place_in_words(pointer: &str) -> String {
    let keys = pointer.split('/').skip(1);
    let keys: Vec<String> = keys
        .map(|key| key.replace("~1", "/").replace("~0", "~"))
        .collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    match &keys[..] {
        [] => String::new(),
        ["inputSchema", rest @ ..] => in_schema(rest, "parameter", "the parameters"),
        ["outputSchema", rest @ ..] => in_schema(rest, "result member", "the result's schema"),
        ["annotations", key] => format!("the {key} of its annotations"),
        ["arguments", place, rest @ ..] if is_number(place) => {
            let argument = format!("argument {}", counted(place));
            of(rest, &argument)
        }
        ["instructions"] => "its instructions".to_owned(),
        [key] => format!("the {key}"),
        keys => keys.join(", "),
    }
}

/// A place within a schema: the parameter, and the part of it.
fn in_schema(keys: &[&str], kind: &str, whole: &str) -> String {
    let mut name = String::new();
    let mut rest = keys;
    loop {
        rest = match rest {
            [
                "properties" | "patternProperties" | "$defs" | "definitions",
                property,
                rest @ ..,
            ] => {
                if !name.is_empty() {
                    name.push('.');
                }
                name.push_str(property);
                rest
            }
            ["items", rest @ ..] if !name.is_empty() => {
                name.push_str("[]");
                rest
            }
            [
                "anyOf" | "oneOf" | "allOf" | "prefixItems",
                place,
                rest @ ..,
            ] if is_number(place) => rest,
            [
                "items" | "additionalProperties" | "not" | "if" | "then" | "else",
                rest @ ..,
            ] if !rest.is_empty() => rest,
            _ => break,
        };
    }
    let of_what = if name.is_empty() {
        whole.to_owned()
    } else {
        format!("{kind} {name}")
    };
    match rest {
        [] if name.is_empty() => of_what,
        [] => format!("the name of {of_what}"),
        rest => of(rest, &of_what),
    }
}

/// The place to which the last keys of a pointer lead within `whole`.
fn of(keys: &[&str], whole: &str) -> String {
    match keys {
        [] => whole.to_owned(),
        ["enum", place] if is_number(place) => format!("choice {} of {whole}", counted(place)),
        ["examples", place] if is_number(place) => format!("example {} of {whole}", counted(place)),
        ["required", place] if is_number(place) => {
            format!("required name {} of {whole}", counted(place))
        }
        [key] => format!("the {key} of {whole}"),
        keys => format!("{} of {whole}", keys.join(", ")),
    }
}

fn is_number(key: &str) -> bool {
    !key.is_empty() && key.len() < 10 && key.bytes().all(|byte| byte.is_ascii_digit())
}

/// An index as people count: from 1.
fn counted(place: &str) -> u64 {
    place.parse::<u64>().unwrap_or_default() + 1
}

#[cfg(test)]
mod tests {
    use super::place_in_words;

    #[test]
    fn pointers_are_said_in_words() {
        for (pointer, expected) in [
            ("", ""),
            ("/description", "the description"),
            ("/name", "the name"),
            ("/annotations/title", "the title of its annotations"),
            ("/instructions", "its instructions"),
            ("/inputSchema", "the parameters"),
            (
                "/inputSchema/description",
                "the description of the parameters",
            ),
            ("/inputSchema/properties/a~1b", "the name of parameter a/b"),
            (
                "/inputSchema/properties/\\u{3C}i\\u{3E}p\\u{3C}~1i\\u{3E}/description",
                "the description of parameter \\u{3C}i\\u{3E}p\\u{3C}/i\\u{3E}",
            ),
            (
                "/inputSchema/properties/when/properties/day/enum/1",
                "choice 2 of parameter when.day",
            ),
            (
                "/inputSchema/properties/guests/items/properties/name/default",
                "the default of parameter guests[].name",
            ),
            (
                "/inputSchema/properties/x/anyOf/0/title",
                "the title of parameter x",
            ),
            (
                "/inputSchema/properties/description/description",
                "the description of parameter description",
            ),
            (
                "/outputSchema/properties/a/title",
                "the title of result member a",
            ),
            ("/arguments/0/description", "the description of argument 1"),
            ("/_meta/a/b", "_meta, a, b"),
            ("/args/0", "args, 0"),
        ] {
            assert_eq!(place_in_words(pointer), expected, "{pointer}");
        }
    }
}
