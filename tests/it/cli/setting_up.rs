//! `mcpproxy setup`: from files of others to a connected client, with a daemon in the background.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use super::{
    Place, Ran,
    importing::{furnished, put},
};

/// A home in which a daemon may have been started.
struct Begun(Place);

impl Begun {
    fn with_files_of(clients: &[&str]) -> Self {
        let place = furnished(clients);
        fs::write(place.config_file(), r#"{ "listen": "127.0.0.1:0" }"#).expect("ours");
        Self(place)
    }

    fn setup(&self, arguments: &[&str]) -> Ran {
        self.0.run(&[&["setup"], arguments].concat())
    }

    fn report(&self, arguments: &[&str]) -> Value {
        self.setup(&[arguments, &["-o", "json"]].concat())
            .ended(0)
            .json()
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        // None may run.
        let _ = self.0.run(&["stop"]);
    }
}

#[test]
fn a_server_of_another_program_reaches_a_client() {
    let begun = Begun::with_files_of(&["magg"]);
    let home = begun.0.folder();
    put(home, ".cursor/mcp.json", "{\n  // mine\n}\n");
    let report = begun.report(&["--import", "magg", "--connect", "cursor", "--no-service"]);
    assert_eq!(
        report["imported"],
        json!(["notes", "weather"]),
        "{report:#}"
    );
    assert_eq!(report["daemon"]["how"], "background");
    let steps = report["next_steps"].to_string();
    assert!(steps.contains("still stand in the files"), "{steps}");
    let url = report["daemon"]["url"].as_str().expect("an address");
    assert_eq!(report["clients"][0]["outcome"], "connected");
    assert_eq!(report["proof"]["tool"], "retrieve_tools");
    assert_eq!(report["tools"], 7, "{report:#}");
    let cursor = fs::read_to_string(home.join(".cursor/mcp.json")).expect("it is there");
    assert!(
        cursor.contains(url) && cursor.contains("// mine"),
        "{cursor}"
    );
    // It is there for good: the next run finds it all.
    let again = begun.setup(&["--yes"]).ended(0);
    again.says(&[
        "1/5 configuration is there",
        "2/5 servers: nothing new in",
        "3/5 daemon runs already: http://127.0.0.1:",
        "Cursor is connected already",
        "4/5 clients: Cursor",
        "5/5 call: retrieve_tools answered in",
        "searches 7 tools",
    ]);
    begun
        .0
        .run(&["call", "read", "notes:echo", "--args", r#"{"text":"milk"}"#])
        .ended(0)
        .shows(&["milk"]);
}

#[test]
fn without_a_person_nothing_is_done_that_was_not_said() {
    let begun = Begun::with_files_of(&["magg", "cursor"]);
    let cursor = begun.0.folder().join(".cursor/mcp.json");
    let before = fs::read_to_string(&cursor).expect("it is there");
    let ran = begun.setup(&[]).ended(0);
    ran.says(&[
        "2/5 servers: none was taken over; 5 could be: `mcpproxy import`",
        "3/5 daemon runs in the background",
        "4/5 clients: none was connected; `mcpproxy connect`",
        "5/5 call: retrieve_tools answered",
        "next step: take over the 5 servers that other programs have here: ",
        "`mcpproxy setup --import all` takes everything",
    ]);
    assert_eq!(fs::read_to_string(&cursor).expect("it is there"), before);
    assert!(!begun.0.written().contains("notes"));
    let report = begun.report(&[]);
    assert_eq!(
        (&report["offered"], &report["imported"]),
        (&json!(5), &json!([]))
    );
    // Whoever says that none should be is not told again.
    let none = begun.setup(&["--import", "none"]).ended(0);
    none.says(&[
        "2/5 servers: nothing is taken over; ",
        "next step: add a server",
    ])
    .does_not_say(&["take over the"]);
}

#[test]
fn a_port_that_another_program_has_ends_setup_with_who_and_what_to_do() {
    let other = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = other.local_addr().expect("an address");
    let begun = Begun::with_files_of(&[]);
    let home = begun.0.folder();
    let listen = json!({ "listen": address.to_string() });
    fs::write(begun.0.config_file(), listen.to_string()).expect("ours");
    let entry = json!({ "mcpServers": { "proxy": { "url": format!("http://{address}/mcp") } } });
    put(home, ".cursor/mcp.json", &entry.to_string());
    let is_not_ours = |ran: Ran| {
        ran.ended(0)
            .shows(&["another program has the port", "mcpproxy doctor"]);
    };
    is_not_ours(begun.0.run(&["connect"]));
    begun
        .setup(&["--yes", "--import", "none"])
        .ended(1)
        .says(&[
            "no client can connect to",
            "the port is taken",
            "mcpproxy stop",
            "\"listen\"",
        ])
        .does_not_say(&["done in"]);
    is_not_ours(begun.0.run(&["connect"]));
    begun
        .0
        .run(&["status"])
        .ended(0)
        .shows(&["none: its port was taken when it started"]);
    let doctor = begun.0.run(&["doctor", "-o", "json"]).ended(1).json();
    let mut findings = doctor["findings"].as_array().expect("findings").iter();
    let port = findings.find(|found| found["check"] == "port");
    let port = port.expect("it is looked at");
    let said = port["what"].as_str().expect("text");
    assert!(
        port["severity"] == "fail"
            && said.starts_with("no client can connect over HTTP: the port is taken"),
        "{port}"
    );
    // The next step, as it stands there.
    drop(other);
    let again = ["--import", "none", "--connect", "none", "--no-service"];
    begun
        .setup(&again)
        .ended(1)
        .says(&["is free now", "next step: `mcpproxy stop`, because"]);
    begun.0.run(&["stop"]).ended(0);
    begun.setup(&again).ended(0).says(&["5/5 call"]);
}

#[test]
fn a_port_that_is_chosen_is_written_down_and_served() {
    let other = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = other.local_addr().expect("an address").port();
    let begun = Begun::with_files_of(&[]);
    let file = begun.0.config_file();
    fs::write(&file, "{\n  // mine\n  \"mcpServers\": {},\n}\n").expect("ours");
    let nothing = ["--import", "none", "--connect", "none", "--no-service"];
    let with = |port: u16| {
        let port = port.to_string();
        begun.setup(&[&nothing[..], &["--port", &port]].concat())
    };
    with(taken)
        .ended(1)
        .says(&["the port is taken", "mcpproxy setup --port"]);
    begun.0.run(&["stop"]).ended(0);
    let free = super::doctor::free_address();
    let port: u16 = free
        .rsplit_once(':')
        .expect("a port")
        .1
        .parse()
        .expect("a number");
    with(port).ended(0).says(&[
        &format!("\"listen\" is 127.0.0.1:{port} in"),
        &format!("http://127.0.0.1:{port}"),
        "5/5 call",
    ]);
    let written = begun.0.written();
    assert!(written.contains("// mine"), "{written}");
    with(port).ended(0).says(&["3/5 daemon runs already"]);
    // Another one would be in force at the next start only.
    with(taken)
        .ended(1)
        .says(&["the daemon runs already", "mcpproxy stop"])
        .does_not_say(&["1/5"]);
    assert_eq!(begun.0.written(), written);
}

#[test]
fn what_cannot_be_is_said_before_anything_is_done() {
    let begun = Begun::with_files_of(&[]);
    begun
        .setup(&["--connect", "emacs"])
        .ended(2)
        .says(&["no such client", "claude-code"]);
    begun
        .setup(&["--import", "emacs"])
        .ended(2)
        .says(&["neither a file nor a client"])
        .does_not_say(&["1/5"]);
    begun.setup(&["--service", "--no-service"]).ended(2);
    begun.setup(&["--port", "1", "--listen", ":1"]).ended(2);
    // It would be another one at each start.
    for chosen in [
        ["--port", "0"],
        ["--listen", "127.0.0.1:0"],
        ["--listen", "[::1]:0"],
    ] {
        begun
            .setup(&chosen)
            .ended(2)
            .says(&["port 0", "name a port that is free"])
            .does_not_say(&["1/5"]);
    }
    begun
        .setup(&["--listen", "0.0.0.0:8080"])
        .ended(2)
        .says(&["reached from other machines"]);
    fs::write(begun.0.config_file(), "{ \"listen\": 1 }").expect("ours");
    begun.setup(&[]).ended(1).says(&["`listen`", "next step"]);
    begun.0.run(&["status"]).ended(3);
}

#[test]
fn a_service_manager_that_is_not_there_is_no_obstacle() {
    let begun = Begun::with_files_of(&[]);
    let programs = begun.0.folder().join("programs");
    fs::create_dir(&programs).expect("ours");
    let manager = programs.join("systemctl");
    fs::write(
        &manager,
        "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n",
    )
    .expect("ours");
    fs::set_permissions(&manager, fs::Permissions::from_mode(0o755)).expect("ours");
    let mut command = begun.0.command();
    let ran = command
        .env("PATH", &programs)
        .args(["setup", "--service", "-o", "json"])
        .output();
    let ran = ran.expect("the program runs");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{said}");
    let report: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(report["daemon"]["how"], "background", "{report:#}");
    let steps = report["next_steps"].to_string();
    assert!(
        steps.contains("service manager cannot be reached"),
        "{steps}"
    );
}
