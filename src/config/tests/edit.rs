//! What an edit changes, and what it must not.

use std::ops::Range;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{
    config::{
        Change, EditError, Surroundings,
        document::{to_json, tree},
        edit, parse, written_entry,
    },
    names::ServerName,
};

fn add(name: &str, entry: Value) -> Change {
    let Value::Object(entry) = entry else {
        panic!("an entry is an object");
    };
    let name = ServerName::parse(name).expect("a good name");
    Change::AddServer { name, entry }
}

fn path(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

fn set(server: &str, keys: &[&str], value: Value) -> Change {
    let (server, path) = (server.to_owned(), path(keys));
    Change::SetKey {
        server,
        path,
        value,
    }
}

fn unset(server: &str, keys: &[&str]) -> Change {
    let (server, path) = (server.to_owned(), path(keys));
    Change::RemoveKey { server, path }
}

fn remove(name: &str) -> Change {
    Change::RemoveServer {
        name: name.to_owned(),
    }
}

#[track_caller]
fn check(before: &str, change: &Change, after: &str) {
    assert_eq!(edit(before, change).expect("an edit that works"), after);
}

#[test]
fn a_server_is_added_in_the_manner_of_the_file() {
    let entry = json!({"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}});
    let body = "{\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"x\"],\n      \"env\": {\n        \"A\": \"1\"\n      }\n    }";
    let whole = format!("{{\n  \"mcpServers\": {{\n    \"new\": {body}\n  }}\n}}\n");
    let change = add("new", entry);
    check("", &change, &whole);
    check("{}\n", &change, &whole);
    check("{\n}\n", &change, &whole);
    check("// hello", &change, &format!("// hello\n{whole}"));
    check("{\n  \"mcpServers\": {}\n}\n", &change, &whole);
    check("{\n  \"mcpServers\": null\n}\n", &change, &whole);
    check(
        "{\n  \"mcpServers\": {\n    \"old\": {} // keep\n    // me\n  }\n}\n",
        &change,
        &format!(
            "{{\n  \"mcpServers\": {{\n    \"old\": {{}}, // keep\n    // me\n    \"new\": {body}\n  }}\n}}\n"
        ),
    );
    let small = add("new", json!({"url": "u"}));
    check(
        "{\n\t\"mcpServers\": {\n\t\t\"old\": {},\n\t},\n}",
        &small,
        "{\n\t\"mcpServers\": {\n\t\t\"old\": {},\n\t\t\"new\": {\n\t\t\t\"url\": \"u\"\n\t\t},\n\t},\n}",
    );
    check(
        "{\r\n  \"mcpServers\": {\r\n    \"old\": {}\r\n  }\r\n}",
        &small,
        "{\r\n  \"mcpServers\": {\r\n    \"old\": {},\r\n    \"new\": {\r\n      \"url\": \"u\"\r\n    }\r\n  }\r\n}",
    );
    check(
        "{\"mcpServers\": {\"old\": {}}}",
        &small,
        "{\"mcpServers\": {\"old\": {}, \"new\": {\"url\": \"u\"}}}",
    );
    check(
        "{\"mcpServers\": [\n  {\"name\": \"old\"}\n]}",
        &small,
        "{\"mcpServers\": [\n  {\"name\": \"old\"},\n  {\n    \"name\": \"new\",\n    \"url\": \"u\"\n  }\n]}",
    );
    check(
        "\u{feff}{}",
        &small,
        "\u{feff}{\n  \"mcpServers\": {\n    \"new\": {\n      \"url\": \"u\"\n    }\n  }\n}",
    );
}

#[test]
fn a_server_is_removed_and_comments_stay() {
    check(
        "{\n  \"mcpServers\": {\n    // about a\n    \"a\": {\"x\": [1, 2]}, // tail\n    \"b\": {}\n  }\n}",
        &remove("a"),
        "{\n  \"mcpServers\": {\n    // about a\n    // tail\n    \"b\": {}\n  }\n}",
    );
    check(
        "{\n  \"mcpServers\": {\n    \"a\": {},\n    \"b\": {}\n  }\n}",
        &remove("b"),
        "{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}",
    );
    check(
        "{\n  \"mcpServers\": {\n    \"a\": {}, // a\n    \"b\": {}, // b\n  }\n}",
        &remove("b"),
        "{\n  \"mcpServers\": {\n    \"a\": {}, // a\n    // b\n  }\n}",
    );
    check(
        "{\"mcpServers\": {\"a\": {}, \"b\": {}}}",
        &remove("a"),
        "{\"mcpServers\": {\"b\": {}}}",
    );
    check(
        "{\"mcpServers\": {\"a\": {}, \"b\": {}}}",
        &remove("b"),
        "{\"mcpServers\": {\"a\": {}}}",
    );
    check(
        "{\"mcpServers\": {\"a\": {} /* , */ , \"b\": {}}}",
        &remove("a"),
        "{\"mcpServers\": {/* , */  \"b\": {}}}",
    );
    check(
        "{\"mcpServers\": [\n  {\"name\": \"a\"},\n  {\"name\": \"b\"}\n]}",
        &remove("a"),
        "{\"mcpServers\": [\n  {\"name\": \"b\"}\n]}",
    );
    check(
        "{\"mcpServers\": {\"a\": {\"command\": \"x\"}, \"a\": {\"command\": \"y\"}}}",
        &remove("a"),
        "{\"mcpServers\": {}}",
    );
}

#[test]
fn a_key_is_set_with_nothing_else_touched() {
    let check_entry = |before: &str, change: &Change, after: &str| {
        let whole =
            |entry: &str| format!("{{\"x\": 1, \"mcpServers\": {{\"s\": {entry}}}}} // end");
        check(&whole(before), change, &whole(after));
    };
    check_entry(
        "{\"a\": 1}",
        &set("s", &["b"], json!("q\"\n")),
        "{\"a\": 1, \"b\": \"q\\\"\\n\"}",
    );
    check_entry(
        "{\"a\": /* why */ 1}",
        &set("s", &["a"], json!(2)),
        "{\"a\": /* why */ 2}",
    );
    check_entry("{\"a\": 1}", &set("s", &["a"], json!(1)), "{\"a\": 1}");
    check_entry(
        "{\"env\": {/* k */ \"A\": \"1\", \"B\": \"2\"}}",
        &set("s", &["env"], json!({"A": "1", "C": "3"})),
        "{\"env\": {/* k */ \"A\": \"1\", \"C\": \"3\"}}",
    );
    check_entry(
        "{\"env\": {\"A\": \"1\"}}",
        &set("s", &["env", "B"], json!("2")),
        "{\"env\": {\"A\": \"1\", \"B\": \"2\"}}",
    );
    check_entry(
        "{\"env\": {\"A\": \"1\"}}",
        &unset("s", &["env", "A"]),
        "{\"env\": {}}",
    );
    check_entry("{\"a\": 1}", &unset("s", &["b", "c"]), "{\"a\": 1}");
    check_entry(
        "{\"a\": 1, \"a\": 2}",
        &set("s", &["a"], json!(3)),
        "{\"a\": 1, \"a\": 3}",
    );
    check_entry("{\"a\": 1, \"a\": 2}", &unset("s", &["a"]), "{}");
    check_entry(
        "{\"env\": null}",
        &set("s", &["env", "A"], json!("1")),
        "{\"env\": {\n  \"A\": \"1\"\n}}",
    );
}

#[test]
fn a_key_keeps_the_spelling_the_file_has() {
    let check_entry = |before: &str, change: &Change, after: &str| {
        let whole = |entry: &str| format!("{{\"mcpServers\": [{{\"name\": \"s\", {entry}}}]}}");
        check(&whole(before), change, &whole(after));
    };
    check_entry(
        "\"working_dir\": \"a\"",
        &set("s", &["cwd"], json!("b")),
        "\"working_dir\": \"b\"",
    );
    check_entry(
        "\"protocol\": \"http\"",
        &set("s", &["type"], json!("sse")),
        "\"protocol\": \"sse\"",
    );
    check_entry(
        "\"a\": 1, \"type\": \"x\", \"transport\": 2",
        &set("s", &["type"], json!("sse")),
        "\"a\": 1, \"type\": \"sse\"",
    );
    check_entry(
        "\"a\": 1, \"working_dir\": 2",
        &unset("s", &["cwd"]),
        "\"a\": 1",
    );
    check_entry(
        "\"a\": 1, \"cwd\": 2",
        &unset("s", &["working_dir"]),
        "\"a\": 1, \"cwd\": 2",
    );
}

#[test]
fn enabled_and_disabled_never_contradict_each_other() {
    let check_entry = |before: &str, change: &Change, after: &str| {
        let whole = |entry: &str| format!("{{\"mcpServers\": {{\"s\": {{\"a\": 1, {entry}}}}}}}");
        check(&whole(before), change, &whole(after));
    };
    check_entry(
        "\"disabled\": true",
        &set("s", &["enabled"], json!(true)),
        "\"enabled\": true",
    );
    check_entry(
        "\"enabled\": true",
        &set("s", &["disabled"], json!(true)),
        "\"disabled\": true",
    );
    check_entry(
        "\"enabled\": false",
        &unset("s", &["disabled"]),
        "\"enabled\": false",
    );
    check_entry(
        "\"enabled\": true, \"disabled\": false",
        &set("s", &["enabled"], json!(false)),
        "\"enabled\": false",
    );
}

#[test]
fn an_edit_that_cannot_be_made_says_why() {
    let text = "{\"mcpServers\": {\"GitHub\": {}, \"odd\": 3}}";
    let error = |text: &str, change: &Change| edit(text, change).expect_err("an edit that fails");
    let expected = EditError::ServerExists("GitHub".to_owned());
    assert_eq!(error(text, &add("github", json!({}))), expected);
    let expected = EditError::UnknownServer("x".to_owned());
    assert_eq!(error(text, &remove("x")), expected);
    assert_eq!(error("", &unset("x", &["a"])), expected);
    let expected = EditError::NotAnEntry("odd".to_owned());
    assert_eq!(error(text, &set("odd", &["a"], json!(1))), expected);
    assert_eq!(error(text, &set("GitHub", &[], json!(1))), EditError::NoKey);
    assert!(matches!(error("{", &remove("x")), EditError::Unreadable(_)));
    assert!(matches!(
        error("[]", &add("x", json!({}))),
        EditError::Unreadable(_)
    ));
    assert!(edit(text, &remove("odd")).is_ok());
}

#[test]
fn what_was_added_is_read_back() {
    let entry = json!({"command": "x", "args": ["a\\b\u{7}é"], "env": {"A": "$${B}"}});
    let text = edit("// top\n", &add("s", entry.clone())).expect("an edit that works");
    assert_eq!(
        written_entry(&text, "s"),
        Ok(entry.as_object().expect("an object").clone())
    );
    let folder = std::path::Path::new("/");
    let surroundings = Surroundings {
        lookup: &|_| None,
        folder,
    };
    let settings = parse(&text, &surroundings).expect("a good configuration");
    assert_eq!(settings.servers["s"].shown()["args"], entry["args"]);
}

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
    match change {
        Change::AddServer { name, entry } => {
            servers.insert(name.to_string(), Value::Object(entry.clone()));
        }
        Change::RemoveServer { name } => {
            servers.shift_remove(name);
        }
        Change::SetKey {
            server,
            path,
            value,
        } => {
            let mut changed = entry(servers, server);
            changed.insert(path[0].clone(), value.clone());
            servers[server.as_str()] = Value::Object(changed);
        }
        Change::RemoveKey { server, path } => {
            let mut changed = entry(servers, server);
            changed.shift_remove(&path[0]);
            servers[server.as_str()] = Value::Object(changed);
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
        let read = to_json(&root.expect("an object"), "", &mut Vec::new());
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
