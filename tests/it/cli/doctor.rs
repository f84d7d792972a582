//! `mcpproxy doctor`, with and without a daemon, on machines where something is wrong.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt, path::Path};

use super::{Place, Ran, serving::Serving};
use crate::support::prelude::*;

/// What a check says of a thing: its severity, and all of it as text.
#[track_caller]
fn found(report: &Value, check: &str, place: &str) -> (String, String) {
    let findings = report["findings"].as_array().expect("findings");
    let finding = findings.iter().find(|finding| {
        let at = finding["where"].as_str().unwrap_or_default();
        finding["check"] == check && at.contains(place)
    });
    let finding = finding.unwrap_or_else(|| panic!("no {check} at {place:?} in {report:#}"));
    let severity = finding["severity"].as_str().expect("text");
    // Whatever is wrong has its fix.
    assert_eq!(severity == "ok", finding["fix"].is_null(), "{finding:#}");
    (severity.to_owned(), finding.to_string())
}

/// How many findings say that something of this server does not work.
fn fails(report: &Value, server: &str) -> usize {
    let findings = report["findings"].as_array().expect("findings");
    let failed = findings.iter().filter(|finding| {
        let what = finding["what"].as_str().unwrap_or_default();
        let is_about = finding["where"] == server || what.contains(&format!("server {server} "));
        finding["severity"] == "fail" && is_about
    });
    failed.count()
}

fn doctor(place: &Place, options: &[&str]) -> Ran {
    place.run(&[&["doctor", "-o", "json"], options].concat())
}

/// An entry of the configuration whose address is free.
pub(super) fn free_address() -> String {
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    free.local_addr().expect("an address").to_string()
}

fn configured(mut config: Value) -> Place {
    config["listen"] = json!(free_address());
    let place = Place::configured(&config.to_string());
    fs::set_permissions(place.config_file(), fs::Permissions::from_mode(0o600)).expect("ours");
    let data = place.folder().join("data");
    fs::set_permissions(data, fs::Permissions::from_mode(0o700)).expect("ours");
    place
}

/// A server that leaves a file in this folder when it is started.
fn telling(folder: &Path, name: &str) -> Value {
    let script = format!(
        ": > '{}/started-{name}'; exec '{}' demo-server",
        folder.display(),
        env!("CARGO_BIN_EXE_mcpproxy")
    );
    json!({ "command": "/bin/sh", "args": ["-c", script] })
}

#[test]
fn without_a_daemon_servers_are_tried_and_those_that_are_held_are_not() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let with = |name: &str, more: Value| {
        let mut entry = telling(folder.path(), name);
        entry
            .as_object_mut()
            .expect("an entry")
            .extend(more.as_object().expect("keys").clone());
        entry
    };
    let place = configured(json!({ "mcpServers": {
        "good": with("good", json!({})),
        "held": with("held", json!({ "quarantined": true })),
        "agents": with("agents", json!({ "quarantined": true, "changed_by": "agent" })),
        "off": with("off", json!({ "enabled": false })),
        "ends": { "command": "/bin/sh", "args": ["-c", "exit 3"] },
        "absent": { "command": "no-such-program-4711" },
    } }));
    let report = doctor(&place, &[]).ended(1).json();
    assert_eq!(report["ok"], false);
    let says = |check: &str, at: &str, severity: &str, part: &str| {
        let (found, text) = found(&report, check, at);
        assert!(
            found == severity && text.contains(part),
            "{check} {at}: {text}"
        );
    };
    says("server", "good", "ok", "7 tools");
    says("server", "held", "warn", "waits for approval");
    says("server", "agents", "warn", "waits for approval");
    says("server", "ends", "fail", "exit code 3");
    says("server command", "absent", "fail", "is not on PATH");
    assert_eq!(fails(&report, "absent"), 1, "{report:#}");
    says("daemon", "", "ok", "none runs");
    says("port", "127.0.0.1", "ok", "it is free");
    says("configuration", "mcp_config.json", "ok", "sound");
    let started = |name: &str| folder.path().join(format!("started-{name}")).exists();
    assert!(started("good"));
    for name in ["held", "agents", "off"] {
        assert!(!started(name), "{name} was started");
    }
    let places = report["findings"].as_array().expect("findings");
    assert!(
        !places.iter().any(|finding| finding["where"] == "off"),
        "{report:#}"
    );
    // Nothing of them is left, and nothing of what they listed.
    assert!(processes::marked("HOME", &place.folder().display().to_string()).is_empty());
    assert!(!place.folder().join("data/catalog").exists());
}

#[test]
fn with_no_start_nothing_is_started_and_a_sound_machine_ends_with_0() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = configured(json!({ "mcpServers": { "good": telling(folder.path(), "good") } }));
    let report = doctor(&place, &["--no-start"]).ended(0).json();
    assert_eq!((&report["ok"], &report["tools"]), (&json!(true), &json!(0)));
    assert!(!folder.path().join("started-good").exists());
    // For people: a table, with what is found and what to do.
    place
        .run(&["doctor", "--no-start"])
        .ended(0)
        .shows(&["RESULT", "port", "it is free"])
        .says(&["0 fail"]);
}

#[test]
fn a_server_that_hangs_is_given_up_and_delays_no_other() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = configured(json!({ "mcpServers": {
        "hangs": { "command": "/bin/sh", "args": ["-c", "while read -r line; do :; done"] },
        "good": telling(folder.path(), "good"),
    } }));
    let report = doctor(&place, &["--wait", "15s"]).ended(1).json();
    assert_eq!(found(&report, "server", "good").0, "ok");
    let (severity, text) = found(&report, "server", "hangs");
    assert!(severity == "fail" && text.contains("within 15s"), "{text}");
}

#[test]
fn a_running_daemon_is_asked_and_its_port_is_its_own() {
    let place = configured(
        json!({ "mcpServers": { "absent": { "command": "no-such-program-4711" }, "broken": { "command": 7 } } }),
    );
    let _daemon = Serving::start(&place);
    place.run(&["upstream", "restart", "demo"]).ended(0);
    place.run(&["upstream", "restart", "absent"]);
    let report = doctor(&place, &[]).ended(1).json();
    assert_eq!(report["daemon"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["tools"], 7);
    assert_eq!(found(&report, "port", "127.0.0.1").0, "ok");
    assert_eq!(found(&report, "server", "demo").0, "ok");
    assert_eq!(found(&report, "server", "absent").0, "fail");
    assert_eq!(fails(&report, "absent"), 1, "{report:#}");
    assert_eq!(fails(&report, "broken"), 1, "{report:#}");
}

#[test]
fn a_port_that_somebody_else_has_is_named_with_who_it_is() {
    let place = configured(json!({ "mcpServers": {} }));
    let other = configured(json!({ "mcpServers": {} }));
    let listen = serde_json::from_str::<Value>(&other.written()).expect("JSON")["listen"].clone();
    let _other = Serving::start_with(&other, &["--listen", listen.as_str().expect("text")]);
    fs::write(place.config_file(), json!({ "listen": listen }).to_string()).expect("ours");
    let report = doctor(&place, &[]).ended(1).json();
    let (severity, text) = found(&report, "port", listen.as_str().expect("text"));
    let version = concat!("mcpproxy ", env!("CARGO_PKG_VERSION"));
    assert!(severity == "fail" && text.contains(version), "{text}");
}

#[test]
fn a_broken_configuration_is_told_and_the_rest_is_looked_at_all_the_same() {
    let place = Place::configured(r#"{ "mcpServers": { "a": { "command": "x" "#);
    let report = doctor(&place, &[]).ended(1).json();
    assert_eq!(found(&report, "configuration", "mcp_config.json").0, "fail");
    found(&report, "path", "");
    let place = configured(
        json!({ "mcpServers": { "a": { "command": 7 }, "b": { "command": "sh", "comand": 1 } } }),
    );
    let report = doctor(&place, &["--no-start"]).ended(1).json();
    let (severity, text) = found(&report, "configuration", "mcp_config.json");
    assert!(
        severity == "fail" && text.contains("the server a"),
        "{text}"
    );
    has!(report.to_string(), "`comand` is unknown", "{report:#}");
}

#[test]
fn files_that_others_can_change_are_found() {
    let place = configured(json!({ "mcpServers": {} }));
    fs::set_permissions(place.config_file(), fs::Permissions::from_mode(0o666)).expect("ours");
    let report = doctor(&place, &[]).ended(1).json();
    assert_eq!(found(&report, "files", "mcp_config.json").0, "fail");
}

#[test]
fn clients_of_this_home_are_looked_at_and_left_alone() {
    let place = configured(
        json!({ "mcpServers": { "time": { "command": "sh", "args": ["-c", "exit"] } } }),
    );
    let listen = serde_json::from_str::<Value>(&place.written()).expect("JSON")["listen"].clone();
    let url = format!("http://{}/mcp", listen.as_str().expect("text"));
    let text = json!({ "mcpServers": { "mcp": { "type": "http", "url": url }, "clock": { "command": "sh", "args": ["-c", "exit"] } } });
    let file = place.folder().join(".claude.json");
    fs::write(&file, text.to_string()).expect("ours");
    let report = doctor(&place, &["--no-start"]).ended(0).json();
    let (_, text_of) = found(&report, "client", ".claude.json");
    has!(text_of, "Claude Code names us");
    has!(report.to_string(), "run twice", "{report:#}");
    assert_eq!(
        fs::read_to_string(file).expect("it is there"),
        text.to_string()
    );
}

#[tokio::test]
async fn definitions_that_are_left_out_are_counted_wherever_tools_are() {
    let deep = format!("{}1{}", r#"{"a":"#.repeat(150), "}".repeat(150));
    let deep = format!(r#"{{"name":"deep","inputSchema":{{"type":"object","x":{deep}}}}}"#);
    let server = FakeUpstream::stdio().raw_tool(&deep, echo()).await;
    let daemon = TestDaemon::with_upstream(&server).await;
    let home = daemon.home();
    let why = "1 definition was left out: tool number 1 was left out: in \"deep\" it nests deeper than 100 levels";
    let said = until_async("it to be listed", async || {
        let (code, said, error) = home.cli(&["upstream", "list"]).await;
        assert_eq!(code, 0, "{error}");
        said.contains("0 (1 left out)").then_some(said)
    })
    .await;
    has!(said, why);
    has!(said, "tell its authors");
    for command in [&["upstream", "show", "up"][..], &["status"], &["doctor"]] {
        let (_, said, error) = home.cli(command).await;
        has!(said, why, "{command:?}: {said}{error}");
    }
    // What a server calls its tools is not for every agent's listing.
    let client = daemon.client("/mcp/call").await;
    let listed = client
        .call("upstream_servers", r#"{"operation":"list"}"#)
        .await;
    lacks!(listed.frame, "left");
    let home = daemon.shutdown().await;
    let (_, said, error) = home.cli(&["doctor"]).await;
    has!(said, why, "{said}{error}");
}
