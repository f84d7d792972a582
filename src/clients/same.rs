//! Which entries start the same thing. Pure.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::conversion::as_text;

/// What an entry of ours starts or reaches, and with which values.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct StartedThing {
    target: Target,
    /// Of variables and headers, by name.
    values: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Eq)]
enum Target {
    Program {
        command: String,
        args: Vec<String>,
        folder: Option<String>,
    },
    Address(String),
}

impl StartedThing {
    /// Nothing where the entry has neither a command nor an address.
    pub(super) fn of(entry: &Map<String, Value>) -> Option<Self> {
        let text = |keys: &[&str]| {
            keys.iter()
                .find_map(|key| entry.get(*key)?.as_str())
                .map(plain)
        };
        if let Some(command) = text(&["command"]) {
            let args = entry.get("args").and_then(Value::as_array);
            let args = args.into_iter().flatten().filter_map(as_text);
            let mut args: Vec<String> = args.map(|arg| plain(&arg)).collect();
            if command.rsplit('/').next() == Some("npx") {
                // It only keeps npx from asking.
                args.retain(|arg| arg != "-y" && arg != "--yes");
            }
            let target = Target::Program {
                command,
                args,
                folder: text(&["cwd", "working_dir"]),
            };
            let values = values(entry.get("env"), str::to_owned);
            return Some(Self { target, values });
        }
        let url = text(&["url"])?;
        Some(Self {
            target: Target::Address(url.trim_end_matches('/').to_owned()),
            values: values(entry.get("headers"), str::to_ascii_lowercase),
        })
    }

    /// Whether both start the same program or reach the same address.
    pub(super) fn is_same_target(&self, other: &Self) -> bool {
        self.target == other.target
    }

    /// Whether both have values of the same names.
    pub(super) fn has_names_of(&self, other: &Self) -> bool {
        self.values.keys().eq(other.values.keys())
    }

    /// The names of the values that are not the same.
    pub(super) fn differing(&self, other: &Self) -> Vec<String> {
        let names = self.values.keys().chain(other.values.keys());
        let differs = |name: &&String| self.values.get(*name) != other.values.get(*name);
        let mut differing: Vec<String> = names.filter(differs).cloned().collect();
        differing.sort();
        differing.dedup();
        differing
    }
}

fn values(written: Option<&Value>, name: impl Fn(&str) -> String) -> BTreeMap<String, String> {
    let members = written.and_then(Value::as_object).into_iter().flatten();
    members
        .filter_map(|(key, value)| Some((name(key), plain(&as_text(value)?))))
        .collect()
}

/// The two spellings of a variable are one.
fn plain(text: &str) -> String {
    text.replace("${env:", "${")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::StartedThing;

    fn start(entry: &Value) -> StartedThing {
        StartedThing::of(entry.as_object().expect("an entry")).expect("a start")
    }

    #[test]
    fn what_starts_the_same_thing_is_the_same() {
        let check = |one: Value, other: Value, is_same: bool, differing: &[&str]| {
            let (one, other) = (start(&one), start(&other));
            assert_eq!(one.is_same_target(&other), is_same);
            assert_eq!(one.differing(&other), differing);
        };
        check(
            json!({ "command": "npx", "args": ["-y", "x"], "env": { "A": "${env:A}" } }),
            json!({ "command": "npx", "args": ["x"], "env": { "A": "${A}" }, "enabled": false }),
            true,
            &[],
        );
        check(
            json!({ "url": "https://x/mcp/", "headers": { "X-Key": "1" } }),
            json!({ "url": "https://x/mcp", "headers": { "x-key": "2" } }),
            true,
            &["x-key"],
        );
        check(
            json!({ "command": "x", "args": ["a"] }),
            json!({ "command": "x", "args": ["b"] }),
            false,
            &[],
        );
        check(
            json!({ "command": "x", "cwd": "/a" }),
            json!({ "command": "x", "working_dir": "/b" }),
            false,
            &[],
        );
        assert!(StartedThing::of(json!({}).as_object().expect("an entry")).is_none());
    }
}
