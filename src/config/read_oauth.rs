//! The `oauth` key of a remote server, from JSON to [`OAuth`].

use http::Uri;
use serde_json::{Map, Value, json};

use super::{
    fields::{BadField, ObjectFields},
    oauth::OAuth,
    references::Text,
};
use crate::text::{
    redact::{TextKind, redacted},
    secret::{MASK, Secret},
};

const KEYS: &[&str] = &[
    "client_id",
    "client_secret",
    "scopes",
    "redirect_uri",
    "extra_params",
];

/// Parameters that protect a login: nobody may choose them.
const OURS: &[&str] = &[
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

/// Reads the key, and says what of it was ignored.
pub(super) fn read_oauth(
    fields: &mut ObjectFields<'_>,
    warnings: &mut Vec<String>,
) -> Result<OAuth, BadField> {
    let Some(mut oauth) = fields.object("oauth")? else {
        return Ok(OAuth::default());
    };
    let client_id = oauth.text("client_id")?;
    let client_secret = oauth.text("client_secret")?;
    let scopes = oauth.texts("scopes")?.unwrap_or_default();
    let redirect_uri = oauth.text("redirect_uri")?;
    let extra_params = oauth.named_texts("extra_params")?;
    let mut shown = Map::new();
    if let Some(id) = &client_id {
        shown.insert("client_id".to_owned(), json!(id.shown));
    }
    if client_secret.is_some() {
        shown.insert("client_secret".to_owned(), json!(MASK));
    }
    if !scopes.is_empty() {
        let scopes: Vec<&str> = scopes.iter().map(|scope| &*scope.shown).collect();
        shown.insert("scopes".to_owned(), json!(scopes));
    }
    if let Some(uri) = &redirect_uri {
        shown.insert(
            "redirect_uri".to_owned(),
            json!(redacted(&uri.shown, TextKind::Word)),
        );
    }
    if !extra_params.is_empty() {
        let redacted = extra_params.iter();
        let redacted = redacted.map(|(name, _)| (name.clone(), json!(MASK)));
        shown.insert("extra_params".to_owned(), Value::Object(redacted.collect()));
    }
    let value = |text: Option<Text>| text.map(|text| text.value);
    let (client_id, redirect_uri) = (value(client_id), value(redirect_uri));
    let client_secret = value(client_secret).map(Secret::new);
    let scopes: Vec<String> = scopes.into_iter().map(|scope| scope.value).collect();
    warnings.extend(oauth.unknown(KEYS));
    if client_secret.is_some() && client_id.is_none() {
        return Err(fields.bad("oauth.client_secret", "stands there without `client_id`"));
    }
    if fields.resolves() && !scopes.iter().all(|scope| is_scope(scope)) {
        let problem = "has something in it that is no scope; each stands there by itself";
        return Err(fields.bad("oauth.scopes", problem));
    }
    if fields.resolves() && redirect_uri.as_deref().is_some_and(|uri| !is_redirect(uri)) {
        return Err(fields.bad("oauth.redirect_uri", "is no address of a browser"));
    }
    if let Some((name, _)) = extra_params
        .iter()
        .find(|(name, _)| OURS.contains(&&**name))
    {
        let key = format!("oauth.extra_params.{name}");
        return Err(fields.bad(&key, "is set for every login anew"));
    }
    Ok(OAuth {
        client_id,
        client_secret,
        scopes,
        redirect_uri,
        extra_params: extra_params
            .into_iter()
            .map(|(name, text)| (name, Secret::new(text.value)))
            .collect(),
        shown: Value::Object(shown),
    })
}

/// RFC 6749, 3.3.
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
