//! `mcpproxy upstream patch`: changes keys of a server's entry.

use clap::Args;
use http::Method;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::super::{CommandFailure, Done, OrUndone, Output, connection, outcome, output};
use crate::{
    config::read_unrepeated_object,
    management::{Files, ServerChange},
    text::names::{as_argument, shell_word},
};

/// Change keys of a server's entry
///
/// `env`, `headers`, `isolation`, `oauth` and `tool_acl` are merged, everything else is replaced; null removes a key. `***` keeps the stored
/// value. Comments are kept.
#[derive(Debug, Args)]
pub(in crate::cli) struct PatchServer {
    /// The server's name, as `upstream list` shows it
    name: String,
    /// A key such as `env.TOKEN`, and its value as JSON or text
    #[arg(value_name = "KEY=VALUE", value_parser = assignment, required_unless_present = "json")]
    assignments: Vec<(String, String)>,
    /// The keys and their new values as a JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "assignments")]
    json: Option<String>,
}

/// JSON as it is typed in a shell.
const JSON: &str = r#"--json '{"enabled": false}'"#;

/// Keys whose members are strings, whatever they look like.
const TEXTS: [&str; 2] = ["env", "headers"];

impl PatchServer {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let patch = match &self.json {
            Some(text) => read_unrepeated_object(text.as_bytes()).map_err(|why| {
                CommandFailure::usage(format!("--json cannot be used: {why}"))
                    .next(format!("correct the JSON after --json, such as {JSON}"))
            }),
            None => of_assignments(&self.assignments),
        };
        let patch = patch.or_undone("nothing was changed")?;
        if patch.contains_key("name") {
            let server = as_argument(&self.name);
            let step =
                format!("add it under the new name, then `mcpproxy upstream remove {server}`");
            let failure = CommandFailure::usage("a server cannot be renamed");
            return Err(failure.undone("nothing was changed").next(step));
        }
        let mut daemon = connection::open_or_files(files, out).await?;
        let route = connection::server_path(&self.name, "");
        let body = Value::Object(patch).to_string();
        let changing = daemon.ask_for::<ServerChange>(Method::PATCH, &route, body);
        let mut change = changing.await.map_err(|error| {
            let quoted = self.assignments.iter().find_map(quoted);
            let quoted = quoted.map(|word| {
                let server = as_argument(&self.name);
                format!("put it in single quotes: `mcpproxy upstream patch {server} {word}`")
            });
            CommandFailure::from(error).next_if(quoted)
        })?;
        if change.changed.is_empty() {
            let name = &self.name;
            out.note(&format!(
                "nothing was changed: {name} already has these values"
            ));
        } else {
            change.server = outcome::wait_for(&mut daemon, &self.name, None).await?;
            for warning in &change.warnings {
                out.warning(&format!("{}: {}", self.name, warning.text));
            }
            let done = format!("changed {} of", change.changed.join(", "));
            outcome::say(out, &daemon, &done, &change.server);
            if let Some(id) = change.id.filter(|_| change.server.is_failing()) {
                out.note(&format!("`mcpproxy config undo {id}` undoes this change"));
            }
        }
        if out.is_json() {
            output::print_value(&change)?;
        }
        Ok(())
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    if text.starts_with('{') {
        return Err(format!("give JSON with --json, such as {JSON}"));
    }
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        None if !text.is_empty() && text.chars().all(is_of_key) => {
            Err(format!("write {text}=VALUE"))
        }
        _ => Err("write a key, `=` and a value, such as enabled=false".to_owned()),
    }
}

fn of_assignments(assignments: &[(String, String)]) -> Done<Map<String, Value>> {
    let mut patch = Map::new();
    for (path, text) in assignments {
        let (key, inside) = match path.split_once('.') {
            Some((key, inside)) => (key, Some(inside)),
            None => (path.as_str(), None),
        };
        let value = value(key, inside.is_some(), text);
        // A name of a variable or a header may have dots in it.
        let keys: Vec<&str> = match inside {
            None => vec![key],
            Some(inside) if TEXTS.contains(&key) => vec![key, inside],
            Some(inside) => std::iter::once(key).chain(inside.split('.')).collect(),
        };
        put(&mut patch, &keys, value).ok_or_else(|| {
            let what = format!("`{path}` is given twice, or together with a key that contains it");
            CommandFailure::usage(what).next("leave one of them out")
        })?;
    }
    Ok(patch)
}

/// The value of a key: JSON if it is that, else a string.
fn value(key: &str, is_inside: bool, text: &str) -> Value {
    if text == "null" {
        return Value::Null;
    }
    if is_inside && TEXTS.contains(&key) {
        return text.into();
    }
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// An assignment as it has to be typed, if the shell seems to have removed the quotes in its list.
fn quoted((key, text): &(String, String)) -> Option<String> {
    let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
    // A value inside a key, such as a variable, may be any text.
    let may_be_text = is_json || key.contains('.');
    let list = text.strip_prefix('[')?.strip_suffix(']')?;
    let items = list.split(',').map(|item| item.trim().trim_matches('"'));
    let list: Value = items.collect();
    (!may_be_text).then(|| shell_word(&format!("{key}={list}")))
}

/// Puts a value at the path of keys; nothing if there is one already.
fn put(object: &mut Map<String, Value>, keys: &[&str], value: Value) -> Option<()> {
    match keys {
        [] => None,
        [key] if object.contains_key(*key) => None,
        [key] => {
            object.insert((*key).to_owned(), value);
            Some(())
        }
        [key, inside @ ..] => {
            let inner = object.entry(*key).or_insert_with(|| Map::new().into());
            put(inner.as_object_mut()?, inside, value)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patch(words: &[&str]) -> Option<Value> {
        let words: Result<Vec<_>, _> = words.iter().map(|word| assignment(word)).collect();
        of_assignments(&words.ok()?).ok().map(Value::Object)
    }

    #[test]
    fn assignments_are_json_where_they_can_be() {
        let check = |words: &[&str], expected: Value| assert_eq!(patch(words), Some(expected));
        check(
            &["enabled=false", "idle_timeout=2m"],
            json!({ "enabled": false, "idle_timeout": "2m" }),
        );
        check(
            &["args=[\"a\", \"b\"]", "cwd=null"],
            json!({ "args": ["a", "b"], "cwd": null }),
        );
        check(
            &[
                "env.PORT=8080",
                "env.A.B=true",
                "env.OLD=null",
                "env.EMPTY=",
            ],
            json!({ "env": { "PORT": "8080", "A.B": "true", "OLD": null, "EMPTY": "" } }),
        );
        check(&["headers.X-A=b=c"], json!({ "headers": { "X-A": "b=c" } }));
        check(
            &["oauth.extra_params.audience=x", "oauth.client_id=y"],
            json!({ "oauth": { "extra_params": { "audience": "x" }, "client_id": "y" } }),
        );
    }

    #[test]
    fn quotes_that_a_shell_removed_are_put_back() {
        for (text, expected) in [
            ("[/x.py, -v]", Some(r#"'args=["/x.py","-v"]'"#)),
            (r#"["/x.py"]"#, None),
            ("/x.py", None),
        ] {
            let word = quoted(&("args".to_owned(), text.to_owned()));
            assert_eq!(word.as_deref(), expected);
        }
    }

    #[test]
    fn what_says_two_things_is_refused() {
        for words in [
            &["enabled"][..],
            &["=x"],
            &["env.A=1", "env.A=2"],
            &["env={}", "env={}"],
            &["env=x", "env.A=1"],
        ] {
            assert_eq!(patch(words), None, "{words:?}");
        }
        let nothing = assignment("").expect_err("no key");
        assert!(nothing.starts_with("write a key"), "{nothing}");
    }
}
