//! What came of adding, switching on and restarting servers, and what the operator is told of failures.

use serde_json::{Value, json};

use super::{Place, serving::Serving};

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcpproxy");

/// The command of a server that says something on stderr and ends.
const BROKEN: [&str; 3] = ["/bin/sh", "-c", "echo no config >&2; exit 3"];

fn add(place: &Place, name: &str, more: &[&str], command: &[&str]) -> super::Ran {
    place.run(&[&["upstream", "add", name], more, &["--"], command].concat())
}

#[test]
fn adding_says_what_came_of_it() {
    let place = Place::new();
    let _daemon = Serving::start(&place);
    add(&place, "mine", &[], &[PROGRAM, "demo-server"])
        .ended(0)
        .says(&["added \"mine\": it is ready, 7 tools"]);
    add(&place, "bad", &[], &BROKEN)
        .ended(0)
        .says(&["added \"bad\": it does not work yet", "next step"]);
    let told = add(&place, "again", &["-o", "json"], &[PROGRAM, "demo-server"])
        .ended(0)
        .json();
    assert_eq!(told["server"]["state"], "Ready");
    place
        .run(&["upstream", "disable", "mine", "again"])
        .ended(0);
    // Its lists are known, so nothing is started.
    place
        .run(&["upstream", "enable", "mine"])
        .ended(0)
        .says(&["enabled \"mine\": it is asleep and starts with the next call, 7 tools"]);
    let listed = place.run(&["upstream", "list"]).ended(0);
    listed.shows(&["none: asleep, the next call starts it"]);
}

#[test]
fn a_checked_server_is_added_only_if_it_works() {
    let place = Place::new();
    let _daemon = Serving::start(&place);
    add(&place, "mine", &["--check"], &[PROGRAM, "demo-server"])
        .ended(0)
        .says(&["added \"mine\""])
        .shows(&["mine:echo"]);
    add(&place, "bad", &["--check"], &BROKEN)
        .ended(1)
        .says(&["\"bad\" was not added", "it wrote:\n  no config"])
        .does_not_say(&["next attempt", "in a row", "--- started"]);
    // There is no such server any more that a command could name.
    for command in [&BROKEN[..], &["false"]] {
        add(&place, "bad", &["--check"], command)
            .ended(1)
            .says(&["next step: run the command by hand"])
            .does_not_say(&["mcpproxy upstream"]);
    }
    let missing = ["no-such-program"];
    let step = "next step: install it, name it by its full path, or add its folder to PATH in \"environment\" of the configuration";
    let again = format!("{step}, and add it again; without --check it is added as it is");
    add(&place, "bad", &["--check"], &missing)
        .ended(1)
        .says(&["is not on PATH", &again])
        .does_not_say(&["by hand", "\"command\""]);
    let written = place.written();
    add(&place, "bad", &[], &missing)
        .ended(0)
        .says(&[step])
        .does_not_say(&["\"command\""]);
    assert!(
        written.contains("mine") && !written.contains("bad"),
        "{written}"
    );
    let alone = Place::new();
    add(&alone, "mine", &["--check"], &[PROGRAM, "demo-server"]).ended(3);
}

#[test]
fn what_cannot_be_a_server_is_not_written() {
    let place = Place::configured("{}");
    for (arguments, said) in [
        (
            &["--url", "not-a-url"][..],
            "`url` must begin with http:// or https://",
        ),
        (
            &["--", "npx -y foo"],
            "write it without quotes: -- npx -y foo",
        ),
        (&["uvx", "foo"], "<NAME> -- <COMMAND> [ARGS]..."),
    ] {
        place
            .run(&[&["upstream", "add", "x"], arguments].concat())
            .ended(2)
            .says(&[said]);
    }
    assert_eq!(place.written(), "{}");
}

#[test]
fn several_servers_are_changed_at_once_and_each_failure_is_said() {
    let place = Place::new();
    let _daemon = Serving::start(&place);
    for name in ["a", "b"] {
        add(&place, name, &["--disabled"], &[PROGRAM, "demo-server"]).ended(0);
    }
    place
        .run(&["upstream", "enable", "a", "nobody", "b"])
        .ended(1)
        .says(&[
            "enabled \"a\"",
            "\"nobody\"",
            "enabled \"b\"",
            "1 of 3 servers failed: nobody",
        ]);
    let told = place
        .run(&["upstream", "restart", "a", "b", "-o", "json"])
        .ended(0)
        .json();
    let states: Vec<&Value> = told["changes"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|change| &change["server"]["state"])
        .collect();
    assert_eq!(states, ["Ready", "Ready"]);
    place.run(&["upstream", "rm", "a", "b"]).ended(0);
    assert!(!place.written().contains("demo-server"));
}

#[test]
fn operators_read_hints_of_their_own() {
    let place = Place::new();
    let _daemon = Serving::start(&place);
    place.run(&["upstream", "restart", "demo"]).ended(0);
    add(&place, "bad", &[], &BROKEN).ended(0);
    add(&place, "off", &["--disabled"], &[PROGRAM, "demo-server"]).ended(0);
    for (command, code, said) in [
        (
            &["call", "read", "demo:notes_delete"][..],
            4,
            "`mcpproxy call destructive demo:notes_delete`",
        ),
        (
            &["call", "read", "demo:ech"],
            1,
            "the closest known name is demo:echo",
        ),
        (
            &["call", "write", "demo:ecoh"],
            1,
            "the closest known name is demo:echo",
        ),
        (
            &["call", "read", "dmo:echo"],
            1,
            "the closest configured name is \"demo\"",
        ),
        (
            &["call", "read", "off:echo"],
            4,
            "`mcpproxy upstream enable off` switches it on",
        ),
        (&["upstream", "restart", "bad"], 1, "server \"bad\": "),
        (
            &["upstream", "remove", "demo"],
            1,
            "`mcpproxy serve --demo` adds it",
        ),
        (&["tools", "search", "x", "--server", "dmo"], 1, "\"demo\""),
    ] {
        let ran = place.run(command).ended(code).says(&[said]);
        for of_models in [
            "Ask the user",
            "the user can",
            "Use something else",
            "call_tool_",
        ] {
            assert!(
                !ran.stderr.contains(of_models),
                "{command:?}: {}",
                ran.stderr
            );
        }
    }
}

#[test]
fn a_tool_is_called_by_the_name_that_clients_see() {
    let place = Place::new();
    let _daemon = Serving::start(&place);
    place.run(&["upstream", "restart", "demo"]).ended(0);
    let echoed = place.run(&[
        "call",
        "read",
        "demo__echo",
        "--args",
        r#"{"text":"hello"}"#,
    ]);
    assert_eq!(echoed.ended(0).stdout, "hello\n");
    place
        .run(&["call", "read", "demo__ech"])
        .ended(1)
        .says(&["demo:echo"]);
}

#[test]
fn a_server_is_shown_whole_with_its_secrets_masked() {
    let place = Place::new();
    let _daemon = Serving::start(&place);
    let command = [&["--env", "API_TOKEN=s3cret"][..], &["--disabled"]].concat();
    add(&place, "mine", &command, &[PROGRAM, "demo-server"]).ended(0);
    let shown = place.run(&["upstream", "show", "mine"]).ended(0);
    let shown = shown.shows(&[
        "Disconnected (disabled)",
        "\"API_TOKEN\": \"***\"",
        "demo-server",
        "server-mine.log",
    ]);
    assert!(!shown.stdout.contains("s3cret"));
    let told = place
        .run(&["upstream", "show", "mine", "-o", "json"])
        .ended(0)
        .json();
    assert_eq!(told["entry"]["env"], json!({ "API_TOKEN": "***" }));
    place
        .run(&["upstream", "show", "mne"])
        .ended(1)
        .says(&["\"mine\""]);
}

#[test]
fn the_status_tells_on_one_screen_what_is_wrong() {
    let place = Place::configured(
        r#"{ "listen": "127.0.0.1:0", "mcpServers": { "broken": { "comand": "x" }, "off": { "command": "x", "enabled": false } } }"#,
    );
    let _daemon = Serving::start_with(&place, &["--demo"]);
    place.run(&["upstream", "restart", "demo"]).ended(0);
    add(&place, "bad", &[], &BROKEN).ended(0);
    let text = place.written().replace("127.0.0.1:0", "127.0.0.1:1");
    std::fs::write(place.config_file(), text).expect("ours");
    // An edit makes the daemon look at once.
    place.run(&["upstream", "disable", "off"]).ended(0);
    let status = place.run(&["status"]).ended(0);
    status.shows(&[
        "3 in the configuration and the demo server: 1 ready, ",
        "1 disabled",
        "`comand` is unknown, did you mean `command`?",
        "bad",
        "`listen` was changed; the new value counts after a restart",
    ]);
    place
        .run(&["config", "check"])
        .shows(&["`listen` was changed; the new value counts after a restart"]);
    let told = place.run(&["status", "-o", "json"]).ended(0).json();
    let problems = told["problems"].as_array().expect("an array");
    let names: Vec<&Value> = problems.iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["bad", "broken"]);
}

#[test]
fn a_daemon_is_stopped_and_waited_for() {
    let place = Place::new();
    let mut daemon = Serving::start(&place);
    place.run(&["stop"]).ended(0).says(&["has ended"]);
    assert_eq!(daemon.wait().code(), Some(0));
    place.run(&["stop"]).ended(3).says(&["not running"]);
}

#[test]
fn a_command_that_names_a_file_of_this_folder_is_started_here() {
    let place = Place::configured("{}");
    std::fs::write(place.folder().join("server.py"), "").expect("ours");
    let here = place.folder().canonicalize().expect("it exists");
    let here = here.to_str().expect("text");
    add(&place, "mine", &[], &["python3", "server.py"])
        .ended(0)
        .says(&[here, "names the file server.py"]);
    add(&place, "other", &[], &["python3", "-m", "server"]).ended(0);
    let entry = |name: &str| {
        let shown = place.run(&["upstream", "show", name, "-o", "json"]);
        shown.ended(0).json()["entry"].clone()
    };
    assert_eq!(entry("mine")["cwd"], here);
    assert_eq!(entry("other").get("cwd"), None);
}

#[test]
fn a_log_is_named_as_the_next_step_where_something_stands_in_it() {
    let place = Place::new();
    let _daemon = Serving::start(&place);
    let step = |name: &str, script: &str| {
        add(&place, name, &[], &["/bin/sh", "-c", script]).ended(0);
        let shown = place.run(&["upstream", "show", name, "-o", "json"]);
        let shown = shown.ended(0).json();
        shown["server"]["next_step"]
            .as_str()
            .expect("a next step")
            .to_owned()
    };
    let talks = step("talks", "echo no config >&2; exit 3");
    assert!(talks.contains("`mcpproxy upstream logs talks`"), "{talks}");
    let silent = step("silent", "exit 3");
    assert!(!silent.contains("upstream logs"), "{silent}");
    assert!(
        silent.contains("wrote nothing to its standard error: run its command by hand"),
        "{silent}"
    );
}

#[test]
fn the_name_of_the_demo_server_is_taken_while_it_runs() {
    let place = Place::new();
    let _daemon = Serving::start(&place);
    for name in ["demo", "Demo"] {
        add(&place, name, &[], &["true"]).ended(1).says(&[
            "there is a server \"demo\" already: the demo server, which runs",
            "next step: choose another name",
        ]);
    }
    place
        .run(&[
            "call",
            "read",
            "demo:echo",
            "--args",
            r#"{"text":"still here"}"#,
        ])
        .ended(0)
        .shows(&["still here"]);
}

#[test]
fn a_server_that_is_gone_is_not_tried_again() {
    let place = Place::new();
    let _daemon = Serving::start(&place);
    add(&place, "bad", &[], &BROKEN).ended(0);
    let told = place
        .run(&["upstream", "remove", "bad", "-o", "json"])
        .ended(0)
        .json();
    let server = &told["changes"][0]["server"];
    assert_eq!(server["state"], "Disconnected", "{server}");
    for gone in ["next_attempt_in_seconds", "next_step"] {
        assert!(server.get(gone).is_none_or(Value::is_null), "{server}");
    }
    let reason = server["last_error"].as_str().expect("a reason");
    assert!(!reason.contains("tried again"), "{reason}");
}
