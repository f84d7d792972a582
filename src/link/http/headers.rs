//! What a request's headers repeat of its body (revision 2026-07-28, Streamable HTTP, "Request Metadata"). They are read from the
//! params that are really sent, never taken from a client.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::wire::{
    Raw,
    header_params::{HeaderParam, PREFIX},
    header_value, name_key,
};

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The headers of one request. `mirrored` are the arguments that its tool wants to see there.
pub(super) fn of_request(
    method: &str,
    params: Option<&Raw>,
    mirrored: &[HeaderParam],
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    // A method that no header can carry is none that a server knows.
    if let Ok(value) = HeaderValue::from_str(method) {
        headers.insert(METHOD, value);
    }
    let Some(params) = params else {
        return headers;
    };
    let name = name_key(method).and_then(|key| params.get(key)?.string());
    if let Some(value) = name.as_deref().and_then(encoded) {
        headers.insert(NAME, value);
    }
    if !mirrored.is_empty() {
        let arguments = params.get("arguments");
        for param in mirrored {
            let value = param.value(arguments.as_ref());
            let name = HeaderName::try_from(format!("{PREFIX}{}", param.name));
            if let (Some(value), Ok(name)) = (value.as_deref().and_then(encoded), name) {
                headers.insert(name, value);
            }
        }
    }
    headers
}

fn encoded(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(&header_value::encode(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::header_params;

    #[track_caller]
    fn check(method: &str, params: &str, expected: &[(&str, &str)]) {
        let schema = r#"{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}"#;
        let schema = Raw::parse_str(schema).expect("JSON");
        let mirrored = header_params::read(&schema).expect("a good schema");
        let params = Raw::parse_str(params).expect("JSON");
        let made = of_request(method, Some(&params), &mirrored);
        let mut made: Vec<_> = made
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().expect("plain")))
            .collect();
        made.sort_unstable();
        assert_eq!(made, expected);
    }

    #[test]
    fn headers_repeat_what_the_body_says() {
        check(
            "tools/call",
            r#"{"name":"where","arguments":{"region":" gr\u00fcn","n":-7}}"#,
            &[
                ("mcp-method", "tools/call"),
                ("mcp-name", "where"),
                ("mcp-param-n", "-7"),
                ("mcp-param-region", "=?base64?IGdyw7xu?="),
            ],
        );
        check(
            "tools/call",
            r#"{"name":"x","arguments":{"region":null}}"#,
            &[("mcp-method", "tools/call"), ("mcp-name", "x")],
        );
        check(
            "resources/read",
            r#"{"uri":"file:///a b","name":"other"}"#,
            &[
                ("mcp-method", "resources/read"),
                ("mcp-name", "file:///a b"),
            ],
        );
        check(
            "tasks/cancel",
            r#"{"taskId":"t1"}"#,
            &[("mcp-method", "tasks/cancel"), ("mcp-name", "t1")],
        );
        check(
            "tools/list",
            r#"{"name":"x"}"#,
            &[("mcp-method", "tools/list")],
        );
        check("a\nb", "{}", &[]);
    }
}
