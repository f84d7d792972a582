//! A tool's parameters on one line: `create_issue(title: string, labels?: string[])`. Pure.

use std::fmt::Write as _;

use crate::wire::Raw;

/// Characters of a signature. Parameters that do not fit are left out, with a mark.
const LONGEST: usize = 300;

/// Values of an enumeration that are named.
const VALUES: usize = 6;

/// The line.
pub(super) fn signature(name: &str, schema: Option<&Raw>) -> String {
    let mut line = format!("{name}(");
    let properties = schema.and_then(|schema| schema.get("properties"));
    let required: Vec<String> = schema
        .and_then(|schema| schema.get("required"))
        .map(|names| names.elements().filter_map(|name| name.string()).collect())
        .unwrap_or_default();
    let parameters = properties.iter().flat_map(|properties| {
        properties.members().filter_map(|member| {
            let name = member.name(properties.as_bytes())?;
            let mark = if required.contains(&name) { "" } else { "?" };
            Some(format!(
                "{name}{mark}: {}",
                kind(&properties.part(member.value))
            ))
        })
    });
    // Those that must be given come first, so that they are not the ones left out.
    let (must, may): (Vec<String>, Vec<String>) =
        parameters.partition(|parameter| !parameter.contains("?: "));
    for (i, parameter) in must.iter().chain(&may).enumerate() {
        if line.chars().count() + parameter.chars().count() > LONGEST {
            // Writing into a text cannot fail.
            let _ = write!(line, ", … {} more", must.len() + may.len() - i);
            break;
        }
        line.push_str(if i > 0 { ", " } else { "" });
        line.push_str(parameter);
    }
    line.push(')');
    line
}

/// A parameter's type in a word.
fn kind(schema: &Raw) -> String {
    if let Some(values) = schema.get("enum") {
        let named: Vec<String> = values
            .elements()
            .take(VALUES + 1)
            .map(|value| value.as_str().to_owned())
            .collect();
        return match named.get(..VALUES) {
            Some(first) if named.len() > VALUES => format!("{}|…", first.join("|")),
            _ => named.join("|"),
        };
    }
    let Some(kind) = schema.get("type") else {
        return "any".to_owned();
    };
    let word = |kind: &Raw| match kind.string().as_deref() {
        Some("array") => {
            let items = schema
                .get("items")
                .and_then(|items| items.get("type"))
                .and_then(|kind| kind.string());
            format!("{}[]", items.as_deref().unwrap_or("any"))
        }
        Some(word) => word.to_owned(),
        None => "any".to_owned(),
    };
    match kind.elements().map(|kind| word(&kind)).collect::<Vec<_>>() {
        alternatives if alternatives.is_empty() => word(&kind),
        alternatives => alternatives.join("|"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &str, expected: &str) {
        let schema = Raw::parse_str(schema).expect("JSON");
        assert_eq!(signature("f", Some(&schema)), expected);
    }

    #[test]
    fn parameters_stand_on_one_line() {
        check("{}", "f()");
        check(
            r#"{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["b"]}"#,
            "f(b: integer, a?: string)",
        );
        check(
            r#"{"properties":{"a":{"enum":["x","y"]}}}"#,
            r#"f(a?: "x"|"y")"#,
        );
        check(
            r#"{"properties":{"a":{"enum":[1,2,3,4,5,6,7,8]}},"required":["a"]}"#,
            "f(a: 1|2|3|4|5|6|…)",
        );
        check(
            r#"{"properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"type":"array"}}}"#,
            "f(a?: string[], b?: any[])",
        );
        check(
            r#"{"properties":{"a":{"type":["string","null"]},"b":{"$ref":"x"},"c":true}}"#,
            "f(a?: string|null, b?: any, c?: any)",
        );
        check(r#"{"properties":7,"required":"a"}"#, "f()");
        assert_eq!(signature("f", None), "f()");
    }

    #[test]
    fn a_long_line_says_what_it_left_out() {
        let properties: serde_json::Map<String, serde_json::Value> = (0..100)
            .map(|i| {
                (
                    format!("parameter_{i}"),
                    serde_json::json!({ "type": "string" }),
                )
            })
            .collect();
        let schema = Raw::author(
            &serde_json::json!({ "properties": properties, "required": ["parameter_99"] }),
        );
        let line = signature("f", Some(&schema));
        assert!(
            line.starts_with("f(parameter_99: string, ") && line.ends_with(" more)"),
            "{line}"
        );
        assert!(line.chars().count() < LONGEST + 20);
    }
}
