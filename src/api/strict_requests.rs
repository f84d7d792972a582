//! Refuses query parameters that the `OpenAPI` document does not have, numbers outside of their range, and bodies where none is described:
//! a misspelt filter would otherwise find everything.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Query, Request, State},
    middleware::Next,
};
use serde_json::Value;

use super::{Answer, MAX_BODY, wrong};

/// The parameters that requests of a route may have, and whether they may have a body. Cheap to clone.
#[derive(Clone)]
pub(super) struct RequestRules {
    pub(super) parameters: Arc<[Parameter]>,
    pub(super) takes_body: bool,
}

/// A parameter that a request may have.
pub(super) struct Parameter {
    name: String,
    /// The least and, where there is one, the largest number that it may be; absent for texts.
    range: Option<(u64, Option<u64>)>,
}

impl Parameter {
    /// By the JSON Schema of its value.
    pub(super) fn of_schema(name: &str, schema: &Value) -> Self {
        let (least, most) = (schema["minimum"].as_u64(), schema["maximum"].as_u64());
        Self {
            name: name.to_owned(),
            range: least.map(|least| (least, most)),
        }
    }

    fn check(&self, value: &str) -> Result<(), String> {
        let Some((least, most)) = self.range else {
            return Ok(());
        };
        let is_in = |number: u64| number >= least && most.is_none_or(|most| number <= most);
        if value.parse().is_ok_and(is_in) {
            return Ok(());
        }
        let range = match most {
            Some(most) => format!("from {least} to {most}"),
            None => format!("of at least {least}"),
        };
        let (name, value) = (&self.name, repeated(value));
        Err(format!(
            "`{name}` must be a whole number {range}, not {value:?}"
        ))
    }
}

/// Passes a request on that keeps the rules of its route.
pub(super) async fn refuse_undescribed(
    State(rules): State<RequestRules>,
    mut request: Request,
    next: Next,
) -> Answer {
    let query = Query::<Vec<(String, String)>>::try_from_uri(request.uri());
    let Query(query) = query.map_err(wrong)?;
    check_query(&query, &rules.parameters).map_err(wrong)?;
    if !rules.takes_body {
        request = without_body(request).await?;
    }
    Ok(next.run(request).await)
}

fn check_query(query: &[(String, String)], known: &[Parameter]) -> Result<(), String> {
    for (name, value) in query {
        let parameter = known.iter().find(|known| known.name == *name);
        let parameter = parameter.ok_or_else(|| unknown(name, known))?;
        parameter.check(value)?;
    }
    Ok(())
}

fn unknown(name: &str, known: &[Parameter]) -> String {
    let name = repeated(name);
    if known.is_empty() {
        return format!("this path takes no parameters, but got {name:?}");
    }
    let known: Vec<&str> = known.iter().map(|known| &*known.name).collect();
    format!("there is no parameter {name:?}; use {}", known.join(", "))
}

/// The part of a text that an error repeats.
fn repeated(text: &str) -> String {
    text.chars().take(100).collect()
}

/// The request without its body, which must be empty or an object without members.
async fn without_body(request: Request) -> Answer<Request> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_BODY).await.map_err(wrong)?;
    let text = body.trim_ascii();
    let members = text.strip_prefix(b"{");
    let members = members.and_then(|rest| rest.strip_suffix(b"}"));
    if members.unwrap_or(text).trim_ascii().is_empty() {
        return Ok(Request::from_parts(parts, Body::empty()));
    }
    Err(wrong("this path takes no body"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_described_parameters_pass_and_numbers_in_their_range() {
        let known = [
            Parameter::of_schema("limit", &json!({ "minimum": 1, "maximum": 9 })),
            Parameter::of_schema("before", &json!({ "minimum": 2 })),
            Parameter::of_schema("server", &json!({ "type": "string" })),
        ];
        let check = |known: &[Parameter], name: &str, value: &str, expected: &str| {
            let query = [(name.to_owned(), value.to_owned())];
            let checked = check_query(&query, known).err().unwrap_or_default();
            assert_eq!(checked, expected, "{name}={value}");
        };
        for (name, value, expected) in [
            ("limit", "1", ""),
            ("limit", "9", ""),
            (
                "limit",
                "10",
                "`limit` must be a whole number from 1 to 9, not \"10\"",
            ),
            (
                "before",
                "-3",
                "`before` must be a whole number of at least 2, not \"-3\"",
            ),
            ("server", "0", ""),
            (
                "sever",
                "x",
                "there is no parameter \"sever\"; use limit, before, server",
            ),
        ] {
            check(&known, name, value, expected);
        }
        let cut = "x".repeat(100);
        let none = format!("this path takes no parameters, but got {cut:?}");
        check(&[], &"x".repeat(1_000), "", &none);
        assert_eq!(check_query(&[], &known), Ok(()));
    }
}
