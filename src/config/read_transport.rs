//! The part of an entry that says how its server is reached: a command, or a URL.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue, Uri, header};
use serde_json::Value;

use super::{
    fields::{BadField, ObjectFields},
    keyring,
    read_oauth::read_oauth,
    references::{References, Text},
    server_entry::{Remote, RemoteKind, Stdio, Transport},
    surroundings::Surroundings,
};
use crate::{
    text::{
        redact::{self, ListContext, TextKind, is_secret_name, redacted},
        secret::Secret,
    },
    wire::instance::INSTANCE,
};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Stdio,
    Remote(RemoteKind),
}

/// Every spelling of `type`.
const KINDS: &[(&str, Kind)] = &[
    ("stdio", Kind::Stdio),
    ("http", Kind::Remote(RemoteKind::Http)),
    ("sse", Kind::Remote(RemoteKind::Sse)),
    ("auto", Kind::Remote(RemoteKind::Auto)),
    ("streamable-http", Kind::Remote(RemoteKind::Http)),
    ("streamableHttp", Kind::Remote(RemoteKind::Http)),
    ("streamable_http", Kind::Remote(RemoteKind::Http)),
];

/// Reads `type`, and the keys of a stdio or a remote server.
pub(super) fn read_transport(
    fields: &mut ObjectFields<'_>,
    surroundings: &Surroundings<'_>,
    warnings: &mut Vec<String>,
) -> Result<Transport, BadField> {
    let kind = match fields.spelling(&["type", "protocol", "transport"])? {
        Some(key) => fields.choice(key, KINDS)?,
        None => None,
    };
    let command = fields.text("command")?;
    let url = fields.text("url")?;
    match (kind, command, url) {
        (_, Some(_), Some(_)) => {
            Err(fields.bad("url", "stands beside `command`; only one can be meant"))
        }
        (None | Some(Kind::Stdio), Some(command), None) => {
            read_stdio(fields, surroundings, command, warnings).map(Transport::Stdio)
        }
        (None, None, Some(url)) => {
            let kind = kind_by_shape(&url.value);
            read_remote(fields, surroundings, &url, kind, warnings).map(Transport::Remote)
        }
        (Some(Kind::Remote(kind)), None, Some(url)) => {
            read_remote(fields, surroundings, &url, kind, warnings).map(Transport::Remote)
        }
        (Some(Kind::Remote(_)), ..) => Err(fields.bad("url", "is missing")),
        (Some(Kind::Stdio), ..) => Err(fields.bad("command", "is missing")),
        (None, None, None) => Err(fields.bad("command", "is missing, and so is `url`")),
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

fn read_stdio(
    fields: &mut ObjectFields<'_>,
    surroundings: &Surroundings<'_>,
    command: Text,
    warnings: &mut Vec<String>,
) -> Result<Stdio, BadField> {
    let args = fields.texts("args")?.unwrap_or_default();
    warnings.extend(visible_secrets(&args));
    let written_env = fields.named_texts("env")?;
    let cwd = match fields.spelling(&["cwd", "working_dir"])? {
        Some(key) => fields.text(key)?,
        None => None,
    };
    let shown_args: Vec<String> = args.iter().map(|arg| arg.shown.clone()).collect();
    let parts = args.iter().map(|arg| &arg.value).chain([&command.value]);
    if parts.into_iter().any(|part| part.contains('\0')) {
        return Err(fields.bad("command", "or its `args` have a NUL character in them"));
    }
    let mut env = BTreeMap::new();
    for (name, text) in written_env {
        if !is_variable(&name) || text.value.contains('\0') {
            let key = format!("env.{}", name.escape_debug());
            return Err(fields.bad(&key, "cannot be an environment variable"));
        }
        env.insert(name, Secret::new(text.value));
    }
    let line = std::iter::once(&command).chain(&args);
    Ok(Stdio {
        written_line: line.map(|text| text.written.clone()).collect(),
        shown_command: redacted(&command.shown, TextKind::Word).into_owned(),
        shown_args: redact::redacted_arguments(&shown_args),
        command: command.value,
        args: args.into_iter().map(|arg| arg.value).collect(),
        env,
        cwd: cwd.as_ref().map(|cwd| surroundings.path(&cwd.value)),
        shown_cwd: cwd.map(|cwd| cwd.shown),
        isolation: None,
        shown_isolation: None,
        written_isolation: None,
    })
}

/// What is said of arguments that are secrets, as far as that shows in how they are written: whoever may list the processes of the machine
/// reads them there, and nothing here can hide them.
fn visible_secrets(args: &[Text]) -> Option<String> {
    let mut written = ListContext::default();
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
        ([], true) => "have a secret in them".to_owned(),
        (names, _) => format!("get the secret of {}", names.join(", ")),
    };
    Some(format!(
        "`args` {what}, which every user of this machine can read in the list of its processes; give it to the server in `env`, if it takes it there"
    ))
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

/// Whether a process can have an environment variable of this name.
pub(super) fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c == '=' || c.is_control())
}

fn read_remote(
    fields: &mut ObjectFields<'_>,
    surroundings: &Surroundings<'_>,
    url: &Text,
    kind: RemoteKind,
    warnings: &mut Vec<String>,
) -> Result<Remote, BadField> {
    if fields.resolves() {
        check_url(&url.value).map_err(|problem| fields.bad("url", problem))?;
    }
    let headers = read_headers(fields)?;
    let ca_file = fields.text("ca_file")?;
    let client_cert = fields.text("client_cert")?;
    let oauth = read_oauth(fields, warnings)?;
    let is_authorized = headers
        .iter()
        .any(|(name, _): &(String, Secret)| name.eq_ignore_ascii_case("authorization"));
    if is_authorized && !oauth.is_empty() {
        warnings
            .push("`oauth` has no effect beside an `Authorization` header in `headers`".to_owned());
    }
    Ok(Remote {
        oauth,
        is_authorized,
        url: url.value.clone(),
        shown_url: redacted(&url.shown, TextKind::Word).into_owned(),
        headers,
        ca_file: ca_file.as_ref().map(|file| surroundings.path(&file.value)),
        client_cert: client_cert
            .as_ref()
            .map(|file| surroundings.path(&file.value)),
        shown_files: [("ca_file", ca_file), ("client_cert", client_cert)]
            .into_iter()
            .filter_map(|(key, file)| Some((key, file?.shown)))
            .collect(),
        kind,
    })
}

fn read_headers(fields: &mut ObjectFields<'_>) -> Result<Vec<(String, Secret)>, BadField> {
    let mut headers: Vec<(String, Secret)> = Vec::new();
    for (name, text) in fields.named_texts("headers")? {
        let bad = |problem: &dyn std::fmt::Display| {
            let key = format!("headers.{}", name.escape_debug());
            Err(fields.bad(&key, problem))
        };
        match HeaderName::from_bytes(name.as_bytes()) {
            Ok(known) if is_set_for_each_request(&known) => {
                return bad(&"must not be there: it is set for every request anew");
            }
            Ok(_) if HeaderValue::from_str(&text.value).is_ok() => (),
            _ => return bad(&"cannot be an HTTP header"),
        }
        let mut before = headers.iter();
        if let Some((other, _)) = before.find(|(other, _)| other.eq_ignore_ascii_case(&name)) {
            return bad(&format_args!(
                "names the same header as `{other}`: case does not count; only one can be meant"
            ));
        }
        headers.push((name, Secret::new(text.value)));
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
    let uri: Uri = url.parse().map_err(|_| "is no URL")?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err("must begin with http:// or https://");
    }
    if uri.host().is_none_or(str::is_empty) {
        return Err("names no host");
    }
    Ok(())
}

/// Takes the keys that mean nothing to this kind of server, and names those that say something.
pub(super) fn without_effect(fields: &mut ObjectFields<'_>, transport: &Transport) -> Vec<String> {
    let (keys, kind): (&[&str], _) = match transport {
        Transport::Stdio(_) => (&["headers", "ca_file", "client_cert", "oauth"], "a stdio"),
        Transport::Remote(_) => (&["args", "env", "cwd", "working_dir"], "a remote"),
    };
    let said = keys
        .iter()
        .filter(|key| fields.value(key).is_some_and(|value| !is_empty(&value)));
    said.map(|key| format!("`{key}` has no effect on {kind} server"))
        .collect()
}

/// Empty values are what the Go program writes for absent ones.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(array) => array.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}
