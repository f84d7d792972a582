//! What an edit changes, and what it must not.

use serde_json::{Value, json};

use crate::config::{Change, EditError, Surroundings, edit, entry_line, parse, written_entry};

pub(super) fn add(name: &str, entry: Value) -> Change {
    let Value::Object(entry) = entry else {
        panic!("an entry is an object");
    };
    Change::of_server(name, Some(entry))
}

pub(super) fn set(server: &str, keys: &[&str], value: Value) -> Change {
    Change {
        value: Some(value),
        ..unset(server, keys)
    }
}

pub(super) fn unset(server: &str, keys: &[&str]) -> Change {
    let mut change = Change::of_server(server, None);
    change.path.extend(keys.iter().map(|key| (*key).to_owned()));
    change
}

pub(super) fn remove(name: &str) -> Change {
    Change::of_server(name, None)
}

#[track_caller]
fn check(before: &str, change: &Change, after: &str) {
    assert_eq!(edit(before, change).expect("an edit that works"), after);
}

#[test]
fn an_entry_is_found_by_its_line() {
    let map = "\u{feff}// a\n{ \"mcpServers\": {\n  \"a\": {},\n  \"b\": {}\n} }";
    assert_eq!(entry_line(map, "b"), Some(4));
    assert_eq!(entry_line(map, "c"), None);
    let list = "{ \"mcpServers\": [\n  { \"name\": \"a\" }\n] }";
    assert_eq!(entry_line(list, "a"), Some(2));
    assert_eq!(entry_line("{", "a"), None);
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
    assert_eq!(
        error(text, &set("GitHub", &[], json!(1))),
        EditError::NotAnEntry("GitHub".to_owned())
    );
    assert!(matches!(error("{", &remove("x")), EditError::Unreadable(_)));
    assert!(matches!(
        error("[]", &add("x", json!({}))),
        EditError::Unreadable(_)
    ));
    assert!(edit(text, &remove("odd")).is_ok());
    for text in [
        r#"{"mcpServers": [{"name": "s"}, {"name": "t"}, {"name": "s"}, {"name": "s"}]}"#,
        r#"{"mcpServers": {"s": {}, "t": {}, "s": 1, "s": {}}}"#,
    ] {
        let name = "s".to_owned();
        let expected = EditError::SeveralEntries { name, n: 3 };
        assert_eq!(error(text, &remove("s")), expected);
        assert!(edit(text, &remove("t")).is_ok());
    }
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
