//! The keys of an entry that say how to connect to its server: those of a command, or those of a URL.

use http::{HeaderName, HeaderValue, Uri, header};
use serde_json::{Map, Value};

use super::{oauth::oauth, settings::variables};
use crate::{
    config::{
        ConfigFinding, FindingKind, Remote, RemoteKind, Stdio, Surroundings, Transport, Warning,
        WrittenTransport,
        finding::Checked,
        keyring,
        raw::RawEntry,
        references::{References, Resolution, Text},
        values::{Pairs, Word},
    },
    text::{
        ListContext, Secret, TextKind,
        redact::{self, is_secret_name, redacted},
    },
    wire::instance::INSTANCE,
};

/// Takes `type`, and the keys of a stdio or a remote server.
pub(super) fn transport(
    raw: &mut RawEntry,
    surroundings: &Surroundings<'_>,
    resolution: Resolution,
    warnings: &mut Vec<Warning>,
) -> Checked<Transport> {
    let written = same(&[
        ("type", raw.kind),
        ("protocol", raw.protocol),
        ("transport", raw.transport),
    ])?;
    let url = raw.url.take().as_ref().map(Text::trimmed);
    match (written, raw.command.take(), url) {
        (_, Some(_), Some(_)) => Err(ConfigFinding::new(
            "url",
            "and `command` are both given; keep one",
        )),
        (None | Some(WrittenTransport::Stdio), Some(command), None) => {
            stdio(raw, surroundings, command, warnings).map(Transport::Stdio)
        }
        (Some(WrittenTransport::Stdio), None, _) => Err(ConfigFinding::new(
            "command",
            "is missing, but `type` needs it",
        )),
        (written, None, Some(url)) => {
            let kind = match written {
                None => kind_by_shape(&url.value),
                Some(WrittenTransport::Sse) => RemoteKind::Sse,
                Some(WrittenTransport::Auto) => RemoteKind::Auto,
                Some(_) => RemoteKind::Http,
            };
            let remote = remote(raw, surroundings, &url, kind, resolution, warnings);
            remote.map(Transport::Remote)
        }
        (Some(_), _, None) => Err(ConfigFinding::new("url", "is missing, but `type` needs it")),
        (None, None, None) => Err(ConfigFinding::new(
            "command",
            "and `url` are missing or empty; one is needed",
        )),
    }
}

/// The value under several spellings of a key; an error if two spellings have different values.
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

/// By convention the URLs of HTTP+SSE servers end in `/sse`, but a server with Streamable HTTP may have such a URL, too.
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

/// Warns of arguments that are secrets, as far as the written text shows that: every user of the machine can read the arguments of its
/// processes, and mcpproxy cannot hide them.
fn visible_secrets(command: &str, args: &[Text]) -> Option<Warning> {
    let mut written = ListContext::of_command(command);
    let (mut references, mut is_literal) = (Vec::new(), false);
    for arg in args {
        let follows = written.hide(&arg.written);
        let key = arg.written.split_once("=${").map(|(key, _)| key);
        let is_named = key.is_some_and(|key| is_secret_name(key.trim_start_matches('-')));
        references.extend(secret_references(&arg.written, follows || is_named));
        let has_reference = References::of(&arg.written).next().is_some();
        is_literal |=
            !has_reference && (follows || redacted(&arg.written, TextKind::Prose) != arg.written);
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

/// The references in a text that give secrets: those to the keyring, and variables that have a secret's name or stand where a secret is
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
    resolution: Resolution,
    warnings: &mut Vec<Warning>,
) -> Checked<Remote> {
    if resolution.is_done() {
        check_url(&url.value).map_err(|problem| ConfigFinding {
            key: "url".to_owned(),
            ..ConfigFinding::of(FindingKind::Url(problem))
        })?;
    }
    let headers = headers(std::mem::take(&mut raw.headers))?;
    let (ca_file, client_cert) = (raw.ca_file.take(), raw.client_cert.take());
    let oauth = oauth(std::mem::take(&mut raw.oauth), resolution)?;
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
            Err(_) => return Err(ConfigFinding::new("headers", no_header(&name))),
        }
        let mut before = headers.iter();
        if let Some((other, _)) = before.find(|(other, _)| other.eq_ignore_ascii_case(&name)) {
            return bad(&format!("and `{other}` are the same header; remove one"));
        }
        headers.push((name, Secret::new(text.0.value)));
    }
    Ok(headers)
}

/// Why a text is no header's name. Shows nothing from the first wrong character on: a colon and a value may follow, which is a secret.
fn no_header(name: &str) -> String {
    let is_wrong = |c: char| HeaderName::from_bytes(c.encode_utf8(&mut [0; 4]).as_bytes()).is_err();
    let (right, wrong) = name.split_at(name.find(is_wrong).unwrap_or(name.len()));
    let wrong = match wrong.chars().next() {
        None if name.is_empty() => return "has an empty name".to_owned(),
        None => return "has a name that is too long".to_owned(),
        Some(' ') => "a space".to_owned(),
        Some(wrong) => format!("{wrong:?}"),
    };
    let place = if right.is_empty() {
        format!("that begins with {wrong}")
    } else {
        format!("with {wrong} after {right:?}")
    };
    format!("has a name {place}; use letters, digits and signs such as `-` only")
}

/// Headers that describe one message or one connection: mcpproxy sets them for each request.
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

/// Whether mcpproxy sets this header for each request, so that an entry must not.
pub fn is_set_for_each_request(name: &HeaderName) -> bool {
    SET_FOR_EACH_REQUEST.contains(name)
}

/// Checks a server's URL. The problem does not repeat the URL, which may contain a secret.
fn check_url(url: &str) -> Result<(), &'static str> {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    if !matches!(&*scheme.to_ascii_lowercase(), "http" | "https") {
        return Err("must begin with http:// or https://");
    }
    if url.contains(char::is_whitespace) {
        return Err("contains a space or a line break");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if host.is_empty() || host.starts_with(':') {
        return Err("names no host");
    }
    if !host.is_ascii() {
        return Err("has a host that is not ASCII; write it as xn--…");
    }
    let uri: Uri = url
        .parse()
        .map_err(|_| "contains a character that is not allowed in that place")?;
    // `Uri` accepts a port that is no number, and the default port would be used.
    let is_plain = uri.host().is_some_and(|name| name.len() == host.len());
    if !is_plain && matches!(uri.port_u16(), None | Some(0)) {
        return Err("must have a port from 1 to 65535, or none");
    }
    Ok(())
}

/// Warns of keys that have a value, but no effect on this kind of server.
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

/// Whether a value is empty: mcpproxy-go writes empty values for absent keys.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(array) => array.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}
