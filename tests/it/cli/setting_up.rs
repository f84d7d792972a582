//! `mcpproxy setup`: from files of others to a connected client, with a daemon in the background.

use std::{fs, net::TcpListener};

use super::{
    Place, Ran,
    importing::{furnished, put},
};
use crate::support::prelude::*;

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
}

impl Drop for Begun {
    fn drop(&mut self) {
        // None may run.
        let _ = self.0.run(&["stop"]);
    }
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
            .shows(&["no mcpproxy answers at its address", " doctor`"]);
    };
    is_not_ours(begun.0.run(&["connect"]));
    // It was configured, so clients may have it.
    let unattended = ["--yes", "--import", "none"];
    let mut taken = vec![format!("{address} is taken")];
    if std::path::Path::new("/proc/net/tcp").exists() {
        taken.push(format!("process {}", std::process::id()));
    }
    let taken: Vec<&str> = taken.iter().map(String::as_str).collect();
    begun
        .setup(&unattended)
        .ended(1)
        .says(&taken)
        .says(&[
            "nothing was set up: ",
            "or take a free port: `mcpproxy setup --port",
        ])
        .does_not_say(&["1/5"]);
    begun.0.run(&["start"]).ended(1).says(&taken).says(&[
        "started, but no client can connect over HTTP",
        "`mcpproxy config set listen 127.0.0.1:",
    ]);
    begun
        .setup(&unattended)
        .ended(1)
        .says(&[
            "no client can connect to",
            "the port is taken",
            "`mcpproxy stop && mcpproxy setup --port",
        ])
        .does_not_say(&["done in"]);
    is_not_ours(begun.0.run(&["connect"]));
    begun
        .0
        .run(&["status"])
        .ended(0)
        .shows(&["none: 127.0.0.1:", " is taken"]);
    let doctor = begun.0.run(&["doctor", "-o", "json"]).ended(1).json();
    let mut findings = doctor["findings"].as_array().expect("findings").iter();
    let port = findings.find(|found| found["check"] == "port");
    let port = port.expect("it is looked at");
    let said = port["what"].as_str().expect("text");
    assert!(
        port["severity"] == "fail"
            && said.starts_with("no client can connect over HTTP: 127.0.0.1:")
            && said.contains("is taken"),
        "{port}"
    );
    // The next step, as it stands there.
    drop(other);
    let again = ["--import", "none", "--connect", "none", "--no-service"];
    begun
        .setup(&again)
        .ended(1)
        .says(&["is free now", "next: `mcpproxy restart`, then"]);
    begun.0.run(&["restart"]).ended(0);
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
        .says(&["is taken", "mcpproxy setup --port"]);
    let port = http::free_address().port();
    with(port).ended(0).says(&[
        &format!("\"listen\" is now 127.0.0.1:{port} in"),
        &format!("http://127.0.0.1:{port}"),
        "5/5 call",
    ]);
    let written = begun.0.written();
    has!(written, "// mine");
    with(port).ended(0).says(&["3/5 daemon already running"]);
    // Another one would be in force at the next start only.
    with(taken)
        .ended(1)
        .says(&["the daemon is already running at", "mcpproxy stop"])
        .does_not_say(&["1/5"]);
    assert_eq!(begun.0.written(), written);
}

#[test]
fn where_the_usual_port_is_taken_clients_get_a_free_one() {
    // If this fails, another program has it, which is as good if it is not mcpproxy.
    let _other = TcpListener::bind("127.0.0.1:8080");
    let begun = Begun::with_files_of(&[]);
    fs::remove_file(begun.0.config_file()).expect("ours");
    put(begun.0.folder(), ".cursor/mcp.json", "{}");
    begun
        .setup(&["--yes", "--import", "none"])
        .ended(0)
        .says(&["127.0.0.1:8080 is taken", "\"listen\" is now 127.0.0.1:"]);
    let written = begun.0.written();
    let mut words = written.split('"').skip_while(|word| *word != "listen");
    let listen = words.nth(2).unwrap_or("127.0.0.1:8080");
    let cursor = fs::read_to_string(begun.0.folder().join(".cursor/mcp.json"));
    let cursor = cursor.expect("it is connected");
    has!(cursor, &format!("http://{listen}/mcp"));
    assert_ne!(listen, "127.0.0.1:8080");
}
