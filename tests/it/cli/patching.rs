//! `upstream patch`, over the file and through a daemon.

use serde_json::json;

use super::{Place, playback::Playback};

const TEXT: &str = r#"{
  "mcpServers": {
    // mine
    "up": {
      "command": "npx", // how
      "args": ["--token", "s3cret-token"],
      "env": { "A": "1", "B": "2" }
    }
  }
}
"#;

#[test]
fn the_file_changes_where_the_patch_names_something() {
    let place = Place::configured(TEXT);
    place
        .run(&[
            "upstream",
            "patch",
            "up",
            "env.B=3",
            "env.A=null",
            "enabled=false",
            "idle_timeout=2m",
        ])
        .ended(0)
        .says(&["changed env.B, env.A, enabled, idle_timeout of \"up\""]);
    let expected = TEXT
        .replace(r#""A": "1", "B": "2""#, r#""B": "3""#)
        .replace(
            "\n    }\n",
            ",\n      \"enabled\": false,\n      \"idle_timeout\": \"2m\"\n    }\n",
        );
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let written = place.written();
    assert_eq!(bare(&written).len(), bare(&expected).len(), "{written}");
    for kept in [
        "// mine",
        "// how",
        r#""B": "3""#,
        r#""enabled": false"#,
        r#""idle_timeout": "2m""#,
    ] {
        assert!(written.contains(kept), "{kept}: {written}");
    }
    let before = place.written();
    place
        .run(&[
            "upstream",
            "patch",
            "up",
            "--json",
            r#"{"args": ["--token", "***"], "enabled": false}"#,
        ])
        .ended(0)
        .says(&["\"up\" was so already"]);
    let ran = place
        .run(&["upstream", "patch", "up", "enabled=false", "-o", "json"])
        .ended(0);
    assert_eq!(ran.json()["changed"], json!([]));
    assert_eq!(place.written(), before);
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_written() {
    let place = Place::configured(TEXT);
    for (arguments, code, said) in [
        (&["up"][..], 2, "KEY=VALUE"),
        (&["up", "enabled"], 2, "KEY=VALUE"),
        (&["up", "comand=x"], 2, "did you mean `command`"),
        (
            &["up", "foo=1"],
            2,
            "`foo` is unknown; an entry has `command`",
        ),
        (&["up", "env=text"], 2, "`env` is no JSON"),
        (&["up", "env.A=1", "env.A=2"], 2, "set twice"),
        (&["up", "--json", "[]"], 2, "no object"),
        (
            &["up", "--json", "{"],
            2,
            "--json cannot be used: line 1, column 1: it ends before it is complete",
        ),
        (
            &["up", "--json", "{\"a\": x}"],
            2,
            "next step: give a JSON object, in single quotes for the shell",
        ),
        (
            &["up", "--json", r#"{"enabled":true,"enabled":false}"#],
            2,
            "stands twice",
        ),
        (&["up", "--json", "{}"], 2, "no key to change"),
        (&["up", "command=null"], 2, "`command` is missing"),
        (&["up", "args=[\"***\"]"], 2, "`args[0]` is masked"),
        (&["none", "enabled=true"], 1, "no server \"none\""),
    ] {
        let arguments = [&["upstream", "patch"], arguments].concat();
        place.run(&arguments).ended(code).says(&[said]);
        assert_eq!(place.written(), TEXT, "{arguments:?}");
    }
}

#[test]
fn with_a_daemon_the_patch_goes_through_it() {
    let place = Place::configured(TEXT);
    let answer = json!({ "server": { "name": "up", "state": "Ready" }, "changed": [] });
    let daemon = Playback::answering(&place, 200, &answer.to_string());
    place
        .run(&["upstream", "patch", "up", "env.B=3"])
        .ended(0)
        .says(&["was so already"]);
    assert_eq!(
        daemon.asked(),
        r#"PATCH /api/v1/servers/up {"env":{"B":"3"}}"#
    );
    assert_eq!(place.written(), TEXT);
}
