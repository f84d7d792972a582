//! The headers of a modern request against its body (revision 2026-07-28, transports, "Server Validation"): a proxy in between may have
//! acted on them, so both must agree.

use http::HeaderMap;

use super::answer::REVISION;
use crate::wire::{
    Raw, Request, RpcError,
    header_params::{self, HeaderParam},
    header_value, meta, name_key,
};

const METHOD: &str = "Mcp-Method";
const NAME: &str = "Mcp-Name";

/// Compares them; the error says which one is missing or different. `arguments_in_headers` are those of the tool that is called.
pub(super) fn check(
    headers: &HeaderMap,
    request: &Request,
    arguments_in_headers: &[HeaderParam],
) -> Result<(), RpcError> {
    let params = request.params.as_ref();
    let meta = params.and_then(|params| params.get(meta::META));
    let version = meta.and_then(|meta| meta.get(meta::PROTOCOL_VERSION));
    same(headers, REVISION.as_str(), text(version).as_deref())?;
    same(headers, METHOD, Some(&request.method))?;
    if let Some(key) = name_key(&request.method) {
        let name = text(params.and_then(|params| params.get(key)));
        same_text(headers, NAME, name.as_deref(), |header, name| {
            header == name
        })?;
    }
    let arguments = params.and_then(|params| params.get("arguments"));
    for param in arguments_in_headers {
        let header = format!("{}{}", header_params::PREFIX, param.name);
        let argument = param.value(arguments.as_ref());
        same_text(headers, &header, argument.as_deref(), header_params::agree)?;
    }
    Ok(())
}

fn text(value: Option<Raw>) -> Option<String> {
    value?.string()
}

/// A header that says it plainly.
fn same(headers: &HeaderMap, name: &str, body: Option<&str>) -> Result<(), RpcError> {
    let header = only(headers, name)?;
    match header {
        Some(header) if Some(header) == body => Ok(()),
        _ => Err(mismatch(name, header, body)),
    }
}

/// A header whose text may stand between marks; absent where the body has none.
fn same_text(
    headers: &HeaderMap,
    name: &str,
    body: Option<&str>,
    agree: impl FnOnce(&str, &str) -> bool,
) -> Result<(), RpcError> {
    let header = only(headers, name)?;
    let decoded = header.map(header_value::decode);
    match (&decoded, body) {
        (None, None) => Ok(()),
        (Some(Some(decoded)), Some(body)) if agree(decoded, body) => Ok(()),
        _ => Err(mismatch(name, header, body)),
    }
}

/// The header's value. Of two, nobody can know which one others went by.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(wrong(&format!("{name} appears twice")));
    }
    match first.map(|value| value.to_str()) {
        None => Ok(None),
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(_)) => Err(wrong(&format!(
            "{name} contains characters that are not allowed in a header"
        ))),
    }
}

fn mismatch(name: &str, header: Option<&str>, body: Option<&str>) -> RpcError {
    wrong(&match (header, body) {
        (None, _) => format!("{name} is missing"),
        (Some(header), None) => format!("{name} is {header:?}, but the body has no such value"),
        (Some(header), Some(body)) => format!("{name} is {header:?}, but the body says {body:?}"),
    })
}

fn wrong(why: &str) -> RpcError {
    RpcError::new(
        RpcError::HEADER_MISMATCH,
        format!("Header mismatch: {why}. Nothing ran; send the same in header and body."),
    )
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;
    use crate::wire::Id;

    const CALL: &str = r#"{"name":"größe","arguments":{"region":"eu","n":7.0,"no":null},
        "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
    const NAMED: (&str, &str) = ("mcp-name", "=?base64?Z3LDtsOfZQ==?=");
    const REGION: (&str, &str) = ("mcp-param-region", "eu");
    const NUMBER: (&str, &str) = ("mcp-param-n", "7");

    fn param(name: &str) -> HeaderParam {
        HeaderParam {
            name: name.into(),
            path: [name.to_ascii_lowercase().into()].into(),
        }
    }

    fn checked(name: &str, params: &str, headers: &[(&str, &str)]) -> Result<(), String> {
        let request = Request {
            id: Id::ours(1),
            method: name.into(),
            params: Some(Raw::parse_str(params).expect("JSON")),
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            map.append(
                name,
                HeaderValue::from_bytes(value.as_bytes()).expect("a value"),
            );
        }
        let params = ["Region", "N", "No"].map(param);
        let params: &[HeaderParam] = if name == "tools/call" { &params } else { &[] };
        check(&map, &request, params).map_err(|error| {
            assert_eq!(error.code, -32020);
            error.message
        })
    }

    fn with(more: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
        let mut all = vec![
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
        ];
        all.extend(more);
        all
    }

    #[test]
    fn headers_that_repeat_the_body_pass() {
        assert_eq!(
            checked("tools/call", CALL, &with(&[NAMED, REGION, NUMBER])),
            Ok(())
        );
        let marked = ("mcp-param-region", "=?base64?ZXU=?=");
        assert_eq!(
            checked("tools/call", CALL, &with(&[NAMED, marked, NUMBER])),
            Ok(())
        );
        let strange = ("mcp-param-other", "x");
        assert_eq!(
            checked("tools/call", CALL, &with(&[NAMED, REGION, NUMBER, strange])),
            Ok(())
        );
    }

    #[test]
    fn whatever_is_missing_or_different_is_named() {
        let check = |headers: &[(&'static str, &'static str)], named: &str| {
            let error = checked("tools/call", CALL, &with(headers)).expect_err("a mismatch");
            assert!(error.to_lowercase().contains(named), "{headers:?}: {error}");
        };
        check(&[REGION, NUMBER], "mcp-name is missing");
        check(&[("mcp-name", "other"), REGION, NUMBER], "mcp-name is");
        check(
            &[("mcp-name", "=?base64?!?="), REGION, NUMBER],
            "mcp-name is",
        );
        check(&[NAMED, NAMED, REGION, NUMBER], "mcp-name appears twice");
        check(&[NAMED, NUMBER], "mcp-param-region is missing");
        check(
            &[NAMED, ("mcp-param-region", "EU"), NUMBER],
            "mcp-param-region is",
        );
        check(
            &[NAMED, ("mcp-param-region", "größe"), NUMBER],
            "mcp-param-region contains",
        );
        check(&[NAMED, REGION, ("mcp-param-n", "8")], "mcp-param-n is");
        check(
            &[NAMED, REGION, NUMBER, ("mcp-param-no", "x")],
            "mcp-param-no is",
        );
        check(&[("mcp-method", "tools/call")], "mcp-method appears twice");
    }

    #[test]
    fn every_request_repeats_revision_and_method() {
        let params = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        let check = |headers: &[(&str, &str)], good: bool| {
            assert_eq!(
                checked("tools/list", params, headers).is_ok(),
                good,
                "{headers:?}"
            );
        };
        let (version, list) = (
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/list"),
        );
        check(&[version, list], true);
        check(&[version], false);
        check(&[list], false);
        check(&[version, ("mcp-method", "Tools/List")], false);
        check(&[("mcp-protocol-version", "2025-11-25"), list], false);
    }
}
