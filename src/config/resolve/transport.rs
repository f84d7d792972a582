//! The part of an entry that says how its server is reached: a command, or a URL.

use http::{HeaderName, HeaderValue, Uri, header};
use serde_json::{Map, Value, json};

use super::settings::{values, variables};
use crate::{
    config::{
        ConfigFinding, FindingKind, OAuth, Remote, RemoteKind, Stdio, Surroundings, Transport,
        Warning, WrittenTransport,
        finding::Checked,
        keyring,
        raw::{RawEntry, RawOAuth},
        references::{References, Text},
        values::{Pairs, Word},
    },
    text::{
        ListContext, MASK, Secret, TextKind,
        redact::{self, is_secret_name, redacted},
    },
    wire::instance::INSTANCE,
};

/// Takes `type`, and the keys of a stdio or a remote server.
pub(super) fn transport(
    raw: &mut RawEntry,
    surroundings: &Surroundings<'_>,
    is_filled: bool,
    warnings: &mut Vec<Warning>,
) -> Checked<Transport> {
    let kinds = [
        ("type", raw.kind),
        ("protocol", raw.protocol),
        ("transport", raw.transport),
    ];
    let kind = same(&kinds)?.map(|kind| match kind {
        WrittenTransport::Stdio => None,
        WrittenTransport::Sse => Some(RemoteKind::Sse),
        WrittenTransport::Auto => Some(RemoteKind::Auto),
        _ => Some(RemoteKind::Http),
    });
    match (kind, raw.command.take(), raw.url.take()) {
        (_, Some(_), Some(_)) => Err(ConfigFinding::new(
            "url",
            "and `command` are both given; keep one",
        )),
        (None | Some(None), Some(command), None) => {
            stdio(raw, surroundings, command, warnings).map(Transport::Stdio)
        }
        (None | Some(Some(_)), None, Some(url)) => {
            let kind = kind.flatten().unwrap_or_else(|| kind_by_shape(&url.value));
            let remote = remote(raw, surroundings, &url, kind, is_filled, warnings);
            remote.map(Transport::Remote)
        }
        (Some(Some(_)), ..) => Err(ConfigFinding::new("url", "is missing, but `type` needs it")),
        (Some(None), ..) => Err(ConfigFinding::new(
            "command",
            "is missing, but `type` needs it",
        )),
        (None, None, None) => Err(ConfigFinding::new(
            "command",
            "and `url` are missing or empty; one is needed",
        )),
    }
}

/// What stands under several spellings of a key.
fn same<T: PartialEq + Clone>(spellings: &[(&str, Option<T>)]) -> Checked<Option<T>> {
    let mut given = spellings
        .iter()
        .filter_map(|(key, value)| Some((key, value.clone()?)));
    let Some((first, value)) = given.next() else {
        return Ok(None);
    };
    match given.find(|(_, other)| *other != value) {
        Some((key, _)) => Err(ConfigFinding::new(
            *key,
            format_args!("contradicts `{first}`"),
        )),
        None => Ok(Some(value)),
    }
}

/// By convention HTTP+SSE servers live under `/sse`; a Streamable HTTP one may still answer there.
fn kind_by_shape(url: &str) -> RemoteKind {
    let place = url.split(['?', '#']).next().unwrap_or_default();
    if place.trim_end_matches('/').ends_with("/sse") {
        RemoteKind::Auto
    } else {
        RemoteKind::Http
    }
}

fn stdio(
    raw: &mut RawEntry,
    surroundings: &Surroundings<'_>,
    command: Text,
    warnings: &mut Vec<Warning>,
) -> Checked<Stdio> {
    let args = std::mem::take(&mut raw.args).into_iter();
    let args: Vec<Text> = args.map(|arg| arg.0).collect();
    warnings.extend(visible_secrets(&command.written, &args));
    let cwd = same(&[
        ("cwd", raw.cwd.take()),
        ("working_dir", raw.working_dir.take()),
    ])?;
    let shown_args: Vec<String> = args.iter().map(|arg| arg.shown.clone()).collect();
    let has_nul = |part: &Text| part.value.contains('\0');
    if has_nul(&command) || args.iter().any(has_nul) {
        let problem = "or its `args` contain a NUL character";
        return Err(ConfigFinding::new("command", problem));
    }
    let line = std::iter::once(&command).chain(&args);
    Ok(Stdio {
        written_line: line.map(|text| text.written.clone()).collect(),
        shown_command: redacted(&command.shown, TextKind::Word).into_owned(),
        shown_args: redact::redacted_arguments(&shown_args),
        command: command.value,
        args: args.into_iter().map(|arg| arg.value).collect(),
        env: variables(std::mem::take(&mut raw.env)),
        cwd: cwd.as_ref().map(|cwd| surroundings.path(&cwd.value)),
        shown_cwd: cwd.map(|cwd| redacted(&cwd.shown, TextKind::Word).into_owned()),
        isolation: None,
        shown_isolation: None,
        written_isolation: None,
    })
}

/// Warnings of arguments that are secrets, as far as that shows in how they are written: whoever may list the processes of the machine
/// reads them there, and nothing here can hide them.
fn visible_secrets(command: &str, args: &[Text]) -> Option<Warning> {
    let mut written = ListContext::of_command(command);
    let (mut references, mut is_literal) = (Vec::new(), false);
    for arg in args {
        let follows = written.hide(&arg.written);
        let key = arg.written.split_once("=${").map(|(key, _)| key);
        let is_named = key.is_some_and(|key| is_secret_name(key.trim_start_matches('-')));
        let mut of_arg = secret_references(&arg.written, follows || is_named).peekable();
        let has_reference = References::of(&arg.written).next().is_some();
        is_literal |=
            !has_reference && (follows || redacted(&arg.written, TextKind::Prose) != arg.written);
        if of_arg.peek().is_some() {
            references.extend(of_arg);
        }
    }
    let what = match (&references[..], is_literal) {
        ([], false) => return None,
        ([], true) => "contain a secret".to_owned(),
        (names, _) => format!("contain the secret of {}", names.join(", ")),
    };
    let what = format!(
        "{what}, which every user of this machine can read (`ps`); use `env` if the server can"
    );
    Some(Warning::of_key("args", what))
}

/// The references of a text that lead to secrets: those into the keyring, and variables that are called like one or stand where one is
/// expected.
fn secret_references(text: &str, is_expected: bool) -> impl Iterator<Item = String> {
    References::of(text).filter(move |reference| {
        let inside = reference.trim_start_matches("${").trim_end_matches('}');
        let name = inside.split(":-").next().unwrap_or(inside);
        let is_kept = name.starts_with(keyring::PREFIX);
        is_kept || is_expected || is_secret_name(name.trim_start_matches("env:"))
    })
}

fn remote(
    raw: &mut RawEntry,
    surroundings: &Surroundings<'_>,
    url: &Text,
    kind: RemoteKind,
    is_filled: bool,
    warnings: &mut Vec<Warning>,
) -> Checked<Remote> {
    if is_filled {
        check_url(&url.value).map_err(|problem| ConfigFinding {
            key: "url".to_owned(),
            ..ConfigFinding::of(FindingKind::Url(problem))
        })?;
    }
    let headers = headers(std::mem::take(&mut raw.headers))?;
    let (ca_file, client_cert) = (raw.ca_file.take(), raw.client_cert.take());
    let oauth = oauth(std::mem::take(&mut raw.oauth), is_filled)?;
    let mut names = headers.iter().map(|(name, _)| name);
    let is_authorized = names.any(|name| name.eq_ignore_ascii_case("authorization"));
    if is_authorized && !oauth.is_empty() {
        let what = "has no effect with an `Authorization` header in `headers`";
        warnings.push(Warning::of_key("oauth", what));
    }
    let path = |file: &Option<Text>| Some(surroundings.path(&file.as_ref()?.value));
    Ok(Remote {
        oauth,
        is_authorized,
        url: url.value.clone(),
        shown_url: redacted(&url.shown, TextKind::Word).into_owned(),
        headers,
        ca_file: path(&ca_file),
        client_cert: path(&client_cert),
        shown_files: [("ca_file", ca_file), ("client_cert", client_cert)]
            .into_iter()
            .filter_map(|(key, file)| Some((key, file?.shown)))
            .collect(),
        kind,
    })
}

fn headers(written: Pairs<String, Word>) -> Checked<Vec<(String, Secret)>> {
    let mut headers: Vec<(String, Secret)> = Vec::new();
    for (name, text) in written.0 {
        let bad = |problem: &str| {
            let key = format!("headers.{}", name.escape_debug());
            Err(ConfigFinding::new(key, problem))
        };
        match HeaderName::from_bytes(name.as_bytes()) {
            Ok(known) if is_set_for_each_request(&known) => {
                return bad("is not allowed: mcpproxy sets it for each request");
            }
            Ok(_) if HeaderValue::from_str(&text.0.value).is_ok() => (),
            Ok(_) => {
                return bad(
                    "contains a character that is not allowed in a header, such as a line break",
                );
            }
            Err(_) => return bad("is not the name of a header"),
        }
        let mut before = headers.iter();
        if let Some((other, _)) = before.find(|(other, _)| other.eq_ignore_ascii_case(&name)) {
            return bad(&format!("and `{other}` are the same header; remove one"));
        }
        headers.push((name, Secret::new(text.0.value)));
    }
    Ok(headers)
}

/// Headers that describe one message or one connection. They are not the configuration's to set.
const SET_FOR_EACH_REQUEST: [HeaderName; 11] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::EXPECT,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::ACCEPT_ENCODING,
    HeaderName::from_static("mcp-session-id"),
    INSTANCE,
];

/// Whether a header is none that an entry can set, because every request has its own.
pub fn is_set_for_each_request(name: &HeaderName) -> bool {
    SET_FOR_EACH_REQUEST.contains(name)
}

/// The text of the problem never repeats the URL: it may hold a secret.
fn check_url(url: &str) -> Result<(), &'static str> {
    let uri: Uri = url
        .parse()
        .map_err(|_| "is not a URL; write it whole, such as https://example.com/mcp")?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err("must begin with http:// or https://");
    }
    if uri.host().is_none_or(str::is_empty) {
        return Err("names no host");
    }
    // One that is none would be taken for the usual one.
    let host = uri.authority().map_or("", |authority| authority.as_str());
    let host = host.rsplit('@').next().unwrap_or_default();
    let is_plain = uri.host().is_some_and(|name| name.len() == host.len());
    if !is_plain && matches!(uri.port_u16(), None | Some(0)) {
        return Err("must have a port from 1 to 65535, or none");
    }
    Ok(())
}

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

/// What is arranged for logging in, and how listings show it.
fn oauth(raw: RawOAuth, is_filled: bool) -> Checked<OAuth> {
    let mut shown = Map::new();
    if let Some(id) = &raw.client_id {
        shown.insert("client_id".to_owned(), json!(id.shown));
    }
    if raw.client_secret.is_some() {
        shown.insert("client_secret".to_owned(), json!(MASK));
    }
    if !raw.scopes.is_empty() {
        let scopes: Vec<&str> = raw.scopes.iter().map(|scope| &*scope.0.shown).collect();
        shown.insert("scopes".to_owned(), json!(scopes));
    }
    if let Some(uri) = &raw.redirect_uri {
        let uri = redacted(&uri.shown, TextKind::Word);
        shown.insert("redirect_uri".to_owned(), json!(uri));
    }
    let extra_params = raw.extra_params.0;
    if !extra_params.is_empty() {
        let names = extra_params.iter();
        let masked = names.map(|(name, _)| (name.clone(), json!(MASK)));
        shown.insert("extra_params".to_owned(), Value::Object(masked.collect()));
    }
    if raw.client_secret.is_some() && raw.client_id.is_none() {
        let problem = "needs a `client_id`";
        return Err(ConfigFinding::new("oauth.client_secret", problem));
    }
    let scopes = values(raw.scopes);
    if is_filled && !scopes.iter().all(|scope| is_scope(scope)) {
        let problem = "has an invalid scope; write each as a separate string";
        return Err(ConfigFinding::new("oauth.scopes", problem));
    }
    let redirect_uri = raw.redirect_uri.map(|uri| uri.value);
    if is_filled && redirect_uri.as_deref().is_some_and(|uri| !is_redirect(uri)) {
        let problem = "must be a URL such as http://127.0.0.1/callback";
        return Err(ConfigFinding::new("oauth.redirect_uri", problem));
    }
    if let Some((name, _)) = extra_params
        .iter()
        .find(|(name, _)| OURS.contains(&&**name))
    {
        let key = format!("oauth.extra_params.{name}");
        return Err(ConfigFinding::new(
            key,
            "is not allowed: mcpproxy sets it for each login",
        ));
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

/// Names the keys that say something and mean nothing to this kind of server.
pub(super) fn without_effect(entry: &Map<String, Value>, transport: &Transport) -> Vec<Warning> {
    let (keys, kind): (&[&str], _) = match transport {
        Transport::Stdio(_) => (&["headers", "ca_file", "client_cert", "oauth"], "a stdio"),
        Transport::Remote(_) => (&["args", "env", "cwd", "working_dir"], "a remote"),
    };
    let ineffective = keys
        .iter()
        .filter(|key| entry.get(**key).is_some_and(|value| !is_empty(value)));
    ineffective
        .map(|key| Warning::of_key(*key, format!("has no effect on {kind} server")))
        .collect()
}

/// Empty values are what the Go program writes for absent ones.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(array) => array.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}
