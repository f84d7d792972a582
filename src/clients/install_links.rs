//! Links that install a server in a client, as badges of READMEs have them: its entry stands in the link. Pure.

use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::{add_commands::named, fault::FileFault};
use crate::config;

/// How their addresses end: of Cursor and VS Code, of Cursor and LM Studio, of Visual Studio, LM Studio and Kiro.
const PLACES: [&str; 5] = [
    "mcp/install",
    "/install-mcp",
    "/mcp-install",
    "/add_mcp",
    "/launch/mcp/add",
];

/// The entry of a link, with its name in it, or the fault of one that should have it; nothing where the text is no such link.
pub(super) fn link(text: &str) -> Option<Result<Value, FileFault>> {
    let (scheme, _) = text.split_once(':')?;
    let is_scheme = scheme
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-');
    if !is_scheme || text.contains(char::is_whitespace) {
        return None;
    }
    let (place, query) = text.split_once('?')?;
    if place.ends_with("vscode.dev/redirect") {
        let inner = value(query, "url")?;
        let (place, query) = inner.split_once('?')?;
        return server_at(place, query);
    }
    server_at(place, query)
}

fn server_at(place: &str, query: &str) -> Option<Result<Value, FileFault>> {
    let found = if place == "goose://extension" || place.ends_with("/goose/extension") {
        extension(query)
    } else if PLACES.iter().any(|end| place.ends_with(end)) {
        installed(query)
    } else {
        return None;
    };
    Some(
        found
            .ok_or_else(|| FileFault::no_server("the install link has no server that can be read")),
    )
}

/// `name=…&config=…&inputs=…`, or the entry alone, which has its name in it.
fn installed(query: &str) -> Option<Value> {
    let mut entry = json_in(value(query, "config").as_deref().unwrap_or(query))?;
    let inputs = value(query, "inputs").and_then(|inputs| json_in(&inputs));
    if let (Some(inputs), Some(members)) = (inputs, entry.as_object_mut()) {
        members.insert("inputs".to_owned(), inputs);
    }
    Some(named(entry, value(query, "name").as_deref()))
}

/// Goose's: `cmd=npx&arg=-y&arg=x&env=KEY%3DWhat`, where a variable has a description in place of a value; or `url=…`.
fn extension(query: &str) -> Option<Value> {
    let mut entry = match value(query, "cmd") {
        Some(command) => {
            let args: Vec<String> = values(query, "arg").collect();
            json!({ "command": command, "args": args })
        }
        None => json!({ "url": value(query, "url")? }),
    };
    let variables = values(query, "env").map(|variable| {
        let name = variable
            .split_once('=')
            .map_or(&*variable, |(name, _)| name);
        (name.to_owned(), json!(format!("<{name}>")))
    });
    let env: Map<String, Value> = variables.collect();
    if !env.is_empty() {
        entry["env"] = env.into();
    }
    let name = value(query, "id").or_else(|| value(query, "name"));
    Some(named(entry, name.as_deref()))
}

/// JSON as it is, percent-encoded, or either in Base64 of any alphabet.
fn json_in(text: &str) -> Option<Value> {
    let plain = |text: &str| {
        let is_json = |value: &Value| value.is_object() || value.is_array();
        let read = |text: &str| config::json_of(text).ok().filter(is_json);
        read(text).or_else(|| read(&decoded(text)?))
    };
    plain(text).or_else(|| {
        let letters = text.replace([' ', '-'], "+").replace('_', "/");
        let bytes = BASE64_STANDARD_NO_PAD.decode(letters.trim_end_matches('='));
        plain(&String::from_utf8(bytes.ok()?).ok()?)
    })
}

fn value(query: &str, key: &str) -> Option<String> {
    values(query, key).next()
}

/// The values of a key, also where its `&` is written as in HTML or in Markdown, and its blanks as in forms. In Base64 these are a `+`, see
/// [`json_in`].
fn values(query: &str, key: &str) -> impl Iterator<Item = String> {
    query.split('&').filter_map(move |pair| {
        let pair = pair.strip_prefix("amp;").unwrap_or(pair);
        let (name, value) = pair.trim_end_matches('\\').split_once('=')?;
        let value = (name == key).then(|| value.replace('+', " "))?;
        decoded(&value)
    })
}

fn decoded(text: &str) -> Option<String> {
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::link;

    #[track_caller]
    fn check(text: &str, entry: &Value) {
        let found = link(text).unwrap_or_else(|| panic!("{text}"));
        let found = found.unwrap_or_else(|fault| panic!("{text}: {fault}"));
        assert_eq!(&found, entry, "{text}");
    }

    #[test]
    fn links_that_install_hold_their_entry() {
        let named = json!({ "name": "x", "command": "npx" });
        for link in [
            "cursor://anysphere.cursor-deeplink/mcp/install?name=x&config=eyJjb21tYW5kIjoibnB4In0=",
            "https://cursor.com/install-mcp?name=x&config=eyJjb21tYW5kIjoibnB4In0%3D",
            "https://cursor.com/en/install-mcp?name=x&amp;config=eyJjb21tYW5kIjoibnB4In0",
            r"https://cursor.com/en-US/install-mcp?name=x\&config=JTdCJTIyY29tbWFuZCUyMiUzQSUyMm5weCUyMiU3RA%3D%3D",
            "lmstudio://add_mcp?name=x&config=eyJjb21tYW5kIjoibnB4In0=",
            "https://lmstudio.ai/install-mcp?name=x&config=eyJjb21tYW5kIjoibnB4In0=",
            "https://insiders.vscode.dev/redirect/mcp/install?name=x&config=%7B%22command%22%3A%22npx%22%7D&quality=insiders",
            "https://kiro.dev/launch/mcp/add?name=x&config=%7B%22command%22%3A+%22npx%22%7D",
            "https://kiro.dev/launch/mcp/add?name=x&config=%7B%22command%22%3A%22npx%22%7D",
            "vscode:mcp/install?%7B%22name%22%3A%22x%22%2C%22command%22%3A%22npx%22%7D",
            "https://vscode.dev/redirect?url=vscode:mcp/install?%7B%22name%22%3A%22x%22%2C%22command%22%3A%22npx%22%7D",
            "https://insiders.vscode.dev/redirect?url=vscode%3Amcp%2Finstall%3F%257B%2522name%2522%253A%2522x%2522%252C%2522command%2522%253A%2522npx%2522%257D",
            "https://vs-open.link/mcp-install?%7B%22name%22%3A%22x%22%2C%22command%22%3A%22npx%22%7D",
        ] {
            check(link, &named);
        }
        let asks = json!({ "name": "x", "command": "npx", "inputs": [{ "id": "key" }] });
        let link = "https://vscode.dev/redirect/mcp/install?name=x&inputs=%5B%7B%22id%22%3A%22key%22%7D%5D&config=%7B%22command%22%3A%22npx%22%7D";
        check(link, &asks);
        let goose = json!({ "name": "x", "command": "npx", "args": ["-y", "@a/b"], "env": { "KEY": "<KEY>", "B": "<B>" } });
        let link = "goose://extension?cmd=npx&arg=-y&arg=%40a%2Fb&id=x&name=X%20Y&env=KEY%3DThe%20key&env=B";
        check(link, &goose);
        let link = "goose://extension?url=https%3A%2F%2Fh%2Fmcp&type=streamable_http&name=x";
        check(link, &json!({ "name": "x", "url": "https://h/mcp" }));
    }

    #[test]
    fn a_link_that_cannot_be_read_is_no_server() {
        for broken in [
            "https://cursor.com/install-mcp?name=x&config=eyJjb21tYW5kIjoi",
            "https://cursor.com/en/install-mcp?name=x",
            "https://vscode.dev/redirect/mcp/install?name=x&config=%7B",
            "goose://extension?name=x",
        ] {
            assert!(link(broken).is_some_and(|it| it.is_err()), "{broken}");
        }
        for other in [
            "https://h/mcp?a=b",
            "https://vscode.dev/redirect?url=vscode://x/y?a=b",
            "/opt/mcp/install",
        ] {
            assert!(link(other).is_none(), "{other}");
        }
    }
}
