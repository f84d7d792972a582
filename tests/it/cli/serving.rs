//! The command line and the daemon, both real, with the demo server behind them.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, ExitStatus, Stdio},
};

use serde_json::json;

use super::Place;

/// A daemon with the demo server, ended with the test.
pub(super) struct Serving(Child);

impl Serving {
    /// Starts one and returns when it is ready.
    pub(super) fn start(place: &Place) -> Self {
        Self::start_with(place, &["--demo", "--http", "127.0.0.1:0"])
    }

    /// The same with these options.
    pub(super) fn start_with(place: &Place, options: &[&str]) -> Self {
        place.home.existing_config_file();
        let mut command = place.command();
        command.arg("serve").args(options);
        Self::start_as(command)
    }

    /// The same, told so whole.
    pub(super) fn start_as(mut command: Command) -> Self {
        let mut daemon = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the daemon starts");
        let mut log = BufReader::new(daemon.stderr.take().expect("stderr is piped"));
        let serving = Self(daemon);
        let mut line = String::new();
        while !line.contains("is ready") {
            line.clear();
            let read = log.read_line(&mut line).expect("the log is text");
            assert!(read > 0, "the daemon ended before it was ready");
        }
        // The daemon must not block on a log that nobody reads.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        serving
    }

    /// Returns when it has ended.
    pub(super) fn wait(&mut self) -> ExitStatus {
        self.0.wait().expect("our child")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_demo_server_is_used_from_the_command_line() {
    let place = Place::new();
    let _daemon = Serving::start(&place);
    place.run(&["status"]).ended(0).shows(&[
        "http://127.0.0.1:",
        "0 in the configuration and the demo server",
    ]);
    // Waits until the server is up, so that its tools are known.
    place
        .run(&["upstream", "restart", "demo"])
        .ended(0)
        .says(&["restarted"]);
    place
        .run(&["upstream", "list"])
        .ended(0)
        .shows(&["demo", "stdio", "Ready", "7"]);
    place.run(&["tools", "list"]).ended(0).shows(&[
        "demo:echo",
        "demo:notes_delete",
        "destructive",
    ]);
    place
        .run(&[
            "call",
            "read",
            "demo:slow_count",
            "--args",
            r#"{"seconds":1}"#,
            "-v",
        ])
        .ended(0)
        .says(&["progress: 1 of 1: counted to 1\n"])
        .shows(&["Counted to 1."]);
    let quiet = [
        "call",
        "read",
        "demo:slow_count",
        "--args",
        r#"{"seconds":1}"#,
    ];
    assert!(!place.run(&quiet).ended(0).stderr.contains("progress"));
    // A failure is one, however the answer comes.
    place
        .run(&["call", "read", "demo:notes_delete", "-v"])
        .ended(4)
        .says(&["mcpproxy call destructive"]);
    place
        .run(&["tools", "show", "demo:add"])
        .ended(0)
        .shows(&["\"outputSchema\""]);

    let echoed = place
        .run(&["call", "read", "demo:echo", "--args", r#"{"text":"hello"}"#])
        .ended(0);
    assert_eq!(echoed.stdout, "hello\n");
    let added = place.run(&[
        "call",
        "read",
        "demo:add",
        "--args",
        r#"{"a":1,"b":2}"#,
        "-o",
        "json",
    ]);
    assert_eq!(
        added.ended(0).json()["structuredContent"],
        json!({ "sum": 3 })
    );
    let note = r#"{"title":"milk","text":"two bottles"}"#;
    place
        .run(&["call", "write", "demo:notes_write", "--args", note])
        .ended(0);
    place
        .run(&["call", "read", "demo:notes_list"])
        .ended(0)
        .shows(&["milk: two bottles"]);

    let delete = ["demo:notes_delete", "--args", r#"{"title":"milk"}"#];
    for (variant, code) in [
        ("read", 4),
        ("write", 4),
        ("destructive", 0),
        ("destructive", 1),
    ] {
        let mut command = vec!["call", variant];
        command.extend(delete);
        place.run(&command).ended(code);
    }
    place
        .run(&["call", "read", "demo:nothing"])
        .ended(1)
        .says(&["nothing"]);
    place
        .run(&["call", "read", "nobody:nothing"])
        .ended(1)
        .says(&["nobody"]);
}

#[test]
fn a_running_daemon_takes_servers_from_the_command_line() {
    let place = Place::new();
    let _daemon = Serving::start(&place);
    let program = env!("CARGO_BIN_EXE_mcpproxy");
    place
        .run(&[
            "upstream",
            "add",
            "mine",
            "--disabled",
            "--",
            program,
            "demo-server",
        ])
        .ended(0);
    assert!(place.written().contains("\"mine\""));
    place
        .run(&["upstream", "add", "mine", "--", "x"])
        .ended(1)
        .says(&["mine"]);
    place
        .run(&["upstream", "list"])
        .ended(0)
        .shows(&["mine", "Disconnected (disabled)"]);
    place
        .run(&["call", "read", "mine:echo", "--args", r#"{"text":"a"}"#])
        .ended(4);
    place.run(&["upstream", "enable", "mine"]).ended(0);
    place.run(&["upstream", "restart", "mine"]).ended(0);
    let echoed = place
        .run(&["call", "read", "mine:echo", "--args", r#"{"text":"a"}"#])
        .ended(0);
    assert_eq!(echoed.stdout, "a\n");
    place.run(&["upstream", "remove", "mine"]).ended(0);
    place
        .run(&["upstream", "logs", "mine"])
        .ended(1)
        .says(&["mine"]);
}

#[test]
fn a_link_in_place_of_a_folder_of_ours_is_refused_and_what_it_leads_to_left_alone() {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    let place = Place::configured("{}");
    let theirs = place.folder().join("theirs");
    fs::create_dir(&theirs).expect("ours");
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o755)).expect("ours");
    for name in ["logs", "catalog", "children", "approvals", "sessions"] {
        let planted = place.folder().join("data").join(name);
        symlink(&theirs, &planted).expect("a link");
        place
            .run(&["serve", "--http", "127.0.0.1:0"])
            .ended(1)
            .says(&[
                &format!("{} is a symbolic link to", planted.display()),
                "remove the link",
            ]);
        fs::remove_file(&planted).expect("it is still the link");
    }
    let mode = fs::metadata(&theirs).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert_eq!(fs::read_dir(&theirs).expect("there").count(), 0);
}
