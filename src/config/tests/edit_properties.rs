//! What holds for every edit of every text.

use std::ops::Range;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::edit::{add, remove, set, unset};
use crate::config::{
    Change, Surroundings,
    document::{tree, value_of},
    edit, parse,
};

/// Writes JSON with blanks or a numbered comment wherever one may stand, and remembers which comments are inside what.
#[derive(Default)]
struct Messy {
    text: String,
    gaps: Vec<u8>,
    comments: usize,
    trailing_commas: bool,
    inside: Vec<(String, Range<usize>)>,
}

impl Messy {
    fn gap(&mut self) {
        let number = self.comments;
        let kind = self.gaps.pop().unwrap_or(7);
        let gap = match kind {
            0 => format!("/*c{number};*/"),
            1 => format!(" // c{number}; \n  "),
            2 => format!("\n  // c{number}; , }}\"\n"),
            3 => "\n    ".to_owned(),
            4 => " \r\n".to_owned(),
            5 => " ".to_owned(),
            _ => String::new(),
        };
        self.comments += usize::from(kind < 3);
        self.text.push_str(&gap);
    }

    fn list<T>(&mut self, ends: [char; 2], items: Vec<T>, mut write: impl FnMut(&mut Self, T)) {
        let last = items.len().saturating_sub(1);
        self.text.push(ends[0]);
        for (index, item) in items.into_iter().enumerate() {
            self.gap();
            write(self, item);
            self.gap();
            if index < last || self.trailing_commas {
                self.text.push(',');
            }
        }
        self.gap();
        self.text.push(ends[1]);
    }

    fn value(&mut self, path: &str, value: &Value) {
        match value {
            Value::Object(object) => {
                self.list(['{', '}'], object.iter().collect(), |out, (key, value)| {
                    let path = format!("{path}/{key}");
                    let first = out.comments;
                    out.text.push_str(&json!(key).to_string());
                    out.gap();
                    out.text.push(':');
                    out.gap();
                    out.value(&path, value);
                    out.inside.push((path, first..out.comments));
                });
            }
            Value::Array(array) => {
                self.list(['[', ']'], array.iter().collect(), |out, element| {
                    let name = element.get("name").and_then(Value::as_str);
                    let path = format!("{path}/{}", name.unwrap_or_default());
                    let first = out.comments;
                    out.value(&path, element);
                    out.inside.push((path, first..out.comments));
                });
            }
            other => self.text.push_str(&other.to_string()),
        }
    }
}

/// Entries with known and unknown keys, none of them an alias.
fn entries() -> impl Strategy<Value = Vec<Map<String, Value>>> {
    let scalar = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z{}/*, \"\\\\]{0,6}".prop_map(Value::from),
        Just(json!(["a", 1])),
        Just(json!({"deep": {"er": []}})),
    ];
    let entry = prop::collection::vec(("[a-e]", scalar), 0..4);
    prop::collection::vec(entry.prop_map(Map::from_iter), 0..4)
}

/// The same change, made to values.
fn model(servers: &mut Map<String, Value>, change: &Change) {
    let entry = |servers: &mut Map<String, Value>, name: &str| {
        servers[name].as_object().cloned().expect("an object")
    };
    let (server, keys) = change.server().expect("only servers are changed here");
    match (keys, &change.value) {
        ([], Some(entry)) => {
            servers.insert(server.to_owned(), entry.clone());
        }
        ([], None) => {
            servers.shift_remove(server);
        }
        ([key, ..], value) => {
            let mut changed = entry(servers, server);
            match value {
                Some(value) => drop(changed.insert(key.clone(), value.clone())),
                None => drop(changed.shift_remove(key)),
            }
            servers[server] = Value::Object(changed);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_edit_loses_a_comment_or_a_key(
        entries in entries(),
        gaps in prop::collection::vec(0_u8..8, 0..120),
        trailing_commas: bool,
        is_array: bool,
        which in 0_usize..4,
        on in 0_usize..4,
        key in "[a-f]",
    ) {
        let mut servers: Map<String, Value> = entries
            .into_iter()
            .enumerate()
            .map(|(index, entry)| (format!("s{index}"), Value::Object(entry)))
            .collect();
        let server = format!("s{on}");
        let change = match which {
            0 => add("new", json!({"command": "x", "env": {"A": "1"}})),
            1 => remove(&server),
            2 => set(&server, &[&key], json!("new")),
            _ => unset(&server, &[&key]),
        };
        let whole = |servers: &Map<String, Value>| {
            let servers = if is_array {
                let named = |(name, entry): (&String, &Value)| {
                    let mut named = Map::from_iter([("name".to_owned(), json!(name))]);
                    named.extend(entry.as_object().cloned().expect("an object"));
                    Value::Object(named)
                };
                servers.iter().map(named).collect()
            } else {
                Value::Object(servers.clone())
            };
            json!({"first": 1, "mcpServers": servers, "last": {"odd": [1]}})
        };
        let mut messy = Messy { gaps, trailing_commas, ..Messy::default() };
        messy.gap();
        messy.value("", &whole(&servers));
        messy.gap();

        let edited = match edit(&messy.text, &change) {
            Ok(edited) => edited,
            Err(error) => {
                prop_assert!(!servers.contains_key(&server), "{error}: {}", messy.text);
                return Ok(());
            }
        };
        model(&mut servers, &change);
        let root = tree(&edited).map_err(|error| TestCaseError::fail(format!("{error}: {edited}")))?;
        let read = value_of(&root.expect("an object"));
        // Compared as text, so that the order of keys counts.
        prop_assert_eq!(read.to_string(), whole(&servers).to_string(), "{}", edited);
        let touched = match which {
            0 => String::new(),
            1 => format!("/mcpServers/{server}"),
            _ => format!("/mcpServers/{server}/{key}"),
        };
        let may_go = messy.inside.iter().find(|(path, _)| *path == touched);
        let may_go = may_go.map_or(0..0, |(_, range)| range.clone());
        for comment in (0..messy.comments).filter(|comment| !may_go.contains(comment)) {
            prop_assert!(edited.contains(&format!("c{comment};")), "c{} of {} is gone: {}", comment, messy.text, edited);
        }
        if !trailing_commas && !edited.contains("//") && !edited.contains("/*") {
            prop_assert!(serde_json::from_str::<Value>(&edited).is_ok(), "{}", edited);
        }
    }

    #[test]
    fn no_text_makes_an_edit_or_a_reading_panic(
        text in "(\\{|\\}|\\[|\\]|\"mcpServers\"|\"s\"|\"a\"|:|,|//|/\\*|\\*/|\n|\r| |1|null|\\\\|é|\"|\u{feff}){0,40}",
    ) {
        let folder = std::path::Path::new("/");
        // The outcome does not matter here, only that there is one.
        let _ = parse(&text, &Surroundings { lookup: &|_| None, folder });
        for change in [
            add("new", json!({"command": "x"})),
            remove("s"),
            set("s", &["a"], json!({"b": 1})),
            set("s", &["a", "b"], json!(1)),
            unset("s", &["a"]),
        ] {
            if let Ok(edited) = edit(&text, &change) {
                prop_assert!(edit(&edited, &remove("none")).is_err());
                prop_assert!(tree(edited.trim_start_matches('\u{feff}')).is_ok(), "{} became {}", text, edited);
            }
        }
    }
}
