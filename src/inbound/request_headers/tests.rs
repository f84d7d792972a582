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
    check(
        &[NAMED, NAMED, REGION, NUMBER],
        "mcp-name appears twice. nothing ran; send it once",
    );
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
    let lacking = checked("tools/list", params, &[list]).expect_err("a header is missing");
    assert!(lacking.contains("MCP-Protocol-Version is missing"));
    check(&[version, ("mcp-method", "Tools/List")], false);
    check(&[("mcp-protocol-version", "2025-11-25"), list], false);
}
