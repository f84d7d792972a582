//! The key `oauth` of an entry, and how listings show it.

use http::Uri;
use serde_json::{Map, Value, json};

use super::settings::values;
use crate::{
    config::{
        ConfigFinding, OAuth, document::present, finding::Checked, raw::RawOAuth,
        references::Resolution,
    },
    text::{MASK, Secret, TextKind, redact::redacted},
};

/// Parameters of OAuth that mcpproxy sets for each login. `extra_params` must not replace them, because they protect the login.
const SET_FOR_EACH_LOGIN: &[&str] = &[
    "client_id",
    "client_secret",
    "code",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "grant_type",
    "redirect_uri",
    "refresh_token",
    "response_type",
    "state",
];

/// Checks the keys of `oauth`.
pub(super) fn oauth(raw: RawOAuth, resolution: Resolution) -> Checked<OAuth> {
    let shown = shown(&raw);
    let fault = |key: &str, problem: &str| Err(ConfigFinding::new(format!("oauth.{key}"), problem));
    if raw.client_secret.is_some() && raw.client_id.is_none() {
        return fault("client_secret", "needs a `client_id`");
    }
    let scopes = values(raw.scopes);
    if resolution.is_done() && !scopes.iter().all(|scope| is_scope(scope)) {
        let problem = "has an invalid scope; write each as a separate string";
        return fault("scopes", problem);
    }
    let redirect_uri = raw.redirect_uri.map(|uri| uri.value);
    if resolution.is_done() && redirect_uri.as_deref().is_some_and(|uri| !is_redirect(uri)) {
        let problem = "must be a URL such as http://127.0.0.1/callback";
        return fault("redirect_uri", problem);
    }
    let extra_params = raw.extra_params.0;
    let mut names = extra_params.iter().map(|(name, _)| name.as_str());
    if let Some(name) = names.find(|name| SET_FOR_EACH_LOGIN.contains(name)) {
        let problem = "is not allowed: mcpproxy sets it for each login";
        return fault(&format!("extra_params.{name}"), problem);
    }
    let extra_params = extra_params.into_iter();
    Ok(OAuth {
        client_id: raw.client_id.map(|id| id.value),
        client_secret: raw.client_secret.map(|secret| Secret::new(secret.value)),
        scopes,
        redirect_uri,
        extra_params: extra_params
            .map(|(name, text)| (name, Secret::new(text.0.value)))
            .collect(),
        shown,
    })
}

fn shown(raw: &RawOAuth) -> Value {
    let scopes: Vec<&String> = raw.scopes.iter().map(|scope| &scope.0.shown).collect();
    let uri = raw.redirect_uri.as_ref();
    let names = raw.extra_params.0.iter().map(|(name, _)| name);
    let extra: Map<String, Value> = names.map(|name| (name.clone(), json!(MASK))).collect();
    let shown = json!({
        "client_id": raw.client_id.as_ref().map(|id| &id.shown),
        "client_secret": raw.client_secret.as_ref().map(|_| MASK),
        "scopes": Some(scopes).filter(|scopes| !scopes.is_empty()),
        "redirect_uri": uri.map(|uri| redacted(&uri.shown, TextKind::Word)),
        "extra_params": Some(extra).filter(|extra| !extra.is_empty()),
    });
    present(shown).into()
}

/// Whether a text is one scope (RFC 6749, 3.3).
fn is_scope(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| matches!(b, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

fn is_redirect(text: &str) -> bool {
    let uri: Option<Uri> = text.parse().ok();
    uri.is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()
    })
}
