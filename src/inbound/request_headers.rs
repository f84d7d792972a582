//! The headers of a modern request against its body (revision 2026-07-28, transports, "Server Validation"): a proxy in between may have
//! acted on them, so both must agree.

use http::HeaderMap;

use crate::wire::{
    Raw, Request, RpcError,
    header_params::{self, HeaderParam},
    header_value, meta, name_key,
};

const REVISION: &str = "MCP-Protocol-Version";
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
    same(headers, REVISION, text(version).as_deref())?;
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
        return Err(wrong(&format!("{name} appears twice"), "send it once"));
    }
    match first.map(|value| value.to_str()) {
        None => Ok(None),
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(_)) => Err(wrong(
            &format!("{name} contains characters that are not allowed in a header"),
            "write the value as =?base64?VALUE?=",
        )),
    }
}

fn mismatch(name: &str, header: Option<&str>, body: Option<&str>) -> RpcError {
    let why = match (header, body) {
        (None, _) => format!("{name} is missing"),
        (Some(header), None) => format!("{name} is {header:?}, but the body has no such value"),
        (Some(header), Some(body)) => format!("{name} is {header:?}, but the body says {body:?}"),
    };
    wrong(&why, "send the same in header and body")
}

fn wrong(why: &str, step: &str) -> RpcError {
    let message = format!("Header mismatch: {why}. Nothing ran; {step}.");
    RpcError::new(RpcError::HEADER_MISMATCH, message)
}

#[cfg(test)]
mod tests;
