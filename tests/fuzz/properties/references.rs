//! References in the configuration: a value is what a slow reading of them says or the entry is broken, and what a variable holds is
//! in no listing.

use std::path::Path;

use mcpproxy::{
    config::{AgentTexts, Settings, ShownSettings, Surroundings, Transport, parse, reviewed_entry},
    text::secret::MASK,
};
use serde_json::{Value, json};

/// What every variable holds, but for some.
const HELD: &str = "v4lue:held/by?it${A}=***";

/// A part of it that nothing else can be made of.
const PART: &str = "v4lue:held";

/// Any text as a variable and as an argument of a server.
pub fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    let entry = json!({ "command": "x", "args": [text], "env": { "K": text } });
    let file = json!({ "mcpServers": { "s": entry } }).to_string();
    let expected = expanded_slowly(text).filter(|value| !value.contains('\0'));
    let settings = read(&file);
    let server = settings.servers.values().next();
    assert_eq!(server.is_some(), expected.is_some(), "{text:?}");
    assert_eq!(server.is_none(), !settings.broken.is_empty(), "{text:?}");
    for broken in &settings.broken {
        assert!(
            text.contains(PART) || !broken.reason.contains(PART),
            "{}",
            broken.reason
        );
    }
    let (Some(server), Some(expected)) = (server, expected) else {
        return;
    };
    let Transport::Stdio(stdio) = &server.transport else {
        panic!("a command is a child process");
    };
    assert_eq!(stdio.env["K"].reveal(), expected, "{text:?}");
    assert_eq!(stdio.args, [expected.as_str()], "{text:?}");
    let shown = &stdio.shown_args[0];
    // What is listed means the same when it is written back.
    assert!(
        shown.contains(MASK) || expanded_slowly(shown) == Some(expected),
        "{text:?} is shown as {shown:?}"
    );
    let written = entry.as_object().expect("an object");
    let none = AgentTexts::default();
    let review = Value::Object(reviewed_entry(written, &none, ShownSettings::AllButSecrets));
    for shown in [
        server.shown().to_string(),
        format!("{server:?}"),
        review.to_string(),
    ] {
        assert!(
            text.contains("v4lue") || !shown.contains(PART),
            "{text:?}: {shown}"
        );
    }
}

fn read(file: &str) -> Settings {
    let surroundings = Surroundings {
        lookup: &lookup,
        folder: Path::new("/folder"),
    };
    parse(file, &surroundings).expect("a server at most is broken")
}

fn lookup(name: &str) -> Option<String> {
    match name {
        "NONE" => None,
        name if name.starts_with("MCPPROXY_") => None,
        "EMPTY" => Some(String::new()),
        _ => Some(HELD.to_owned()),
    }
}

/// The value character by character; nothing where a reference cannot be resolved.
fn expanded_slowly(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("$${") {
            value.push_str("${");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("${") {
            let end = after.find('}')?;
            let (inside, after) = after.split_at(end);
            value.push_str(&resolved_slowly(inside)?);
            rest = after.strip_prefix('}')?;
        } else {
            value.push(first);
            rest = rest.strip_prefix(first)?;
        }
    }
    Some(value)
}

fn resolved_slowly(inside: &str) -> Option<String> {
    if inside.starts_with("keyring:") {
        return None;
    }
    let (name, default) = match inside.find(":-").map(|at| inside.split_at(at)) {
        Some((name, default)) => (name, default.strip_prefix(":-")),
        None => (inside, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    let is_good = |(place, c): (usize, char)| match c {
        'a'..='z' | 'A'..='Z' | '_' | '(' | ')' => true,
        '0'..='9' => place > 0,
        _ => false,
    };
    if name.is_empty() || !name.char_indices().all(is_good) {
        return None;
    }
    if default.is_some_and(|default| default.contains("${")) {
        return None;
    }
    match lookup(name) {
        Some(value) if !value.is_empty() => Some(value),
        held => default.map(str::to_owned).or(held),
    }
}
