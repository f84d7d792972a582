//! The part of a client's entry that says where a remote server is and how to log in there.

use serde_json::{Map, Value, json};

use super::{conversion::Conversion, our_text::OurText, table::EntryTransport};

/// The address, the headers and the login.
pub(super) fn address(work: &mut Conversion<'_>) -> Result<(), String> {
    let is_streamable = work.rest.contains_key("httpUrl");
    let Some(url) = work.take_text(&["httpUrl", "url", "serverUrl", "uri"]) else {
        return Err("it has neither a command nor an address".to_owned());
    };
    let url = work.text(&url, true)?;
    if !url.starts_with("http://") && !url.starts_with("https://") && !url.starts_with("${") {
        return Err("its address is none of HTTP".to_owned());
    }
    work.entry.insert("url".to_owned(), json!(url));
    let is_either = work.client.0.transport != EntryTransport::Said;
    let kind = if is_streamable {
        Some("http")
    } else {
        is_either.then_some("auto")
    };
    if let Some(kind) = kind
        && !work.entry.contains_key("type")
    {
        work.entry.insert("type".to_owned(), json!(kind));
    }
    let mut headers = work.take_texts(&["headers", "http_headers"], true)?;
    tokens(work, &mut headers)?;
    if !headers.is_empty() {
        work.entry
            .insert("headers".to_owned(), Value::Object(headers));
    }
    login(work)
}

/// Tokens and headers that Codex takes from its environment, and a token that stands in its file.
fn tokens(work: &mut Conversion<'_>, headers: &mut Map<String, Value>) -> Result<(), String> {
    const TOKEN: &str = "bearer_token_env_var";
    const HEADERS: &str = "env_http_headers";
    if let Some(variable) = work.take_text(&[TOKEN]) {
        let value = work.variable("Bearer ", &variable, TOKEN)?;
        headers.entry("Authorization").or_insert(value);
    }
    if let Some(token) = work.take_text(&["bearer_token"]) {
        let value = OurText::literal(&format!("Bearer {token}")).written()?;
        headers.entry("Authorization").or_insert(json!(value));
    }
    if let Some(Value::Object(named)) = work.take(&[HEADERS]) {
        for (header, variable) in named {
            let Some(variable) = variable.as_str() else {
                continue;
            };
            let value = work.variable("", variable, HEADERS)?;
            headers.insert(header, value);
        }
    }
    Ok(())
}

/// A login that is set up by hand. Without an id there is nothing to carry: we register ourselves.
fn login(work: &mut Conversion<'_>) -> Result<(), String> {
    let Some(Value::Object(written)) = work.take(&["oauth", "auth"]) else {
        return Ok(());
    };
    let text = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| written.get(*key)?.as_str());
        found.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let Some(id) = text(&["clientId", "client_id", "CLIENT_ID"]) else {
        return Ok(());
    };
    let mut oauth = Map::new();
    let mut put = |key: &str, value: Value| oauth.insert(key.to_owned(), value);
    put("client_id", json!(id));
    if let Some(secret) = text(&["clientSecret", "client_secret", "CLIENT_SECRET"]) {
        put("client_secret", json!(secret));
    }
    if let Some(address) = text(&["redirectUri", "redirect_uri"]) {
        put("redirect_uri", json!(address));
    }
    match ["scopes", "scope"].iter().find_map(|key| written.get(*key)) {
        Some(Value::Array(scopes)) => {
            put("scopes", json!(scopes));
        }
        Some(Value::String(scopes)) => {
            let scopes: Vec<&str> = scopes.split_whitespace().collect();
            put("scopes", json!(scopes));
        }
        _ => (),
    }
    for value in oauth.values_mut() {
        *value = work.with_references(value.take(), true)?;
    }
    work.entry.insert("oauth".to_owned(), Value::Object(oauth));
    Ok(())
}
