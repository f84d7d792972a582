//! The command line, run as the real program: transcripts of what it prints, and tests of what a transcript cannot hold, against the
//! files alone and against a daemon that plays back answers.

mod belonging;
mod calls;
mod completions;
mod connecting;
mod doctor;
mod files;
mod importing;
mod logs;
mod patching;
mod playback;
mod service_run;
mod serving;
mod setting_up;
mod through_the_daemon;
#[cfg(target_os = "linux")]
mod transcripts;

use std::{
    io::Write,
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::support::daemon::Home;

/// A configuration and a data folder in which nothing runs.
struct Place {
    home: Home,
}

/// Says why a test looks at less on this machine.
fn skipped(why: &str) {
    // Whoever hears nothing misses nothing else.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Self {
        let place = Self { home: Home::new() };
        std::fs::create_dir(place.home.data_dir()).expect("the folder is ours");
        place
    }

    fn config_file(&self) -> PathBuf {
        self.home.config_file()
    }

    fn folder(&self) -> &Path {
        self.home.folder()
    }

    fn socket(&self) -> PathBuf {
        self.home.data_dir().join("mcpproxy.sock")
    }

    fn configured(text: &str) -> Self {
        let place = Self::new();
        std::fs::write(place.config_file(), text).expect("the file can be written");
        place
    }

    fn written(&self) -> String {
        std::fs::read_to_string(self.config_file()).expect("the file is there")
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with_input(arguments, "")
    }

    fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self
            .command()
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // A program that fails early does not read its input.
        let _ = child
            .stdin
            .take()
            .expect("stdin is piped")
            .write_all(input.as_bytes());
        Ran::of(child.wait_with_output().expect("the program ends"))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcpproxy"));
        command
            .env_clear()
            .env("HOME", self.folder())
            .current_dir(self.folder())
            .arg("--config")
            .arg(self.config_file())
            .arg("--data-dir")
            .arg(self.home.data_dir());
        command
    }
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
        Self {
            code: output.status.code().expect("an exit code"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    #[track_caller]
    fn ended(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "stdout: {}\nstderr: {}",
            self.stdout, self.stderr
        );
        self
    }

    #[track_caller]
    fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "no {part:?} in: {}",
                self.stderr
            );
        }
        self
    }

    #[track_caller]
    fn does_not_say(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(!self.stderr.contains(part), "{part:?} in: {}", self.stderr);
        }
        self
    }

    #[track_caller]
    fn shows(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(
                self.stdout.contains(part),
                "no {part:?} in: {}",
                self.stdout
            );
        }
        self
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).expect("stdout is JSON")
    }
}

#[test]
fn wrong_usage_ends_with_2_and_help_with_0() {
    let place = Place::new();
    for wrong in [
        &[][..],
        &["nonsense"],
        &["serve", "--mode", "nonsense"],
        &["serve", "--listen", ":1", "--http", ":2"],
        &["upstream", "add", "time"],
        &["upstream", "add", "a__b", "--", "x"],
        &["upstream", "add", "a", "--url", "http://x", "--", "x"],
        &["upstream", "add", "a", "--url", "http://x", "--env", "A=b"],
        &[
            "upstream", "add", "a", "--url", "http://x", "--type", "stdio",
        ],
        &["upstream", "add", "a", "--type", "http", "--", "x"],
        &["upstream", "add", "a", "--env", "novalue", "--", "x"],
        &["upstream", "add", "a", "--header", "X: y", "--", "x"],
        &[
            "upstream", "add", "a", "--url", "http://x", "--header", "novalue",
        ],
        &["upstream", "logs", "a", "--lines", "501"],
        &["upstream", "add", "a", "--", "npx -y foo"],
        &["upstream", "add", "a", "uvx", "foo"],
        &["upstream", "remove"],
        &["upstream", "logs", "a", "-f", "-o", "table", "-q", "-v"],
        &["serve", "--port", "1", "--listen", ":2"],
        &["tools", "search", "x", "--limit", "0"],
        &["call", "read", "noserver"],
        &["call", "delete", "a:b"],
        &["call", "read", "a:b", "--args", "{"],
        &["call", "read", "a:b", "--args", "[]"],
        &["tools", "list", "-o", "yaml"],
    ] {
        let ran = place.run(wrong).ended(2);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{wrong:?}");
    }
    let told = place
        .run(&["upstream", "add", "-o", "json"])
        .ended(2)
        .json();
    let error = told["error"].as_str().expect("text");
    assert!(
        error.contains("not provided") && error.contains("<NAME>"),
        "{error}"
    );
    for help in [
        &["--help"][..],
        &["upstream", "add", "--help"],
        &["call", "-h"],
    ] {
        place.run(help).ended(0).shows(&["Usage: mcpproxy"]);
    }
    let version = concat!("mcpproxy ", env!("CARGO_PKG_VERSION"));
    place.run(&["-V"]).ended(0).shows(&[version]);
    place
        .run(&["--version"])
        .ended(0)
        .shows(&[version, "commit ", "2024-11-05, ", ", 2026-07-28"]);
}

#[test]
fn what_needs_a_daemon_ends_with_3_and_says_how_to_start_one() {
    let place = Place::new();
    let commands: &[&[&str]] = &[
        &["status"],
        &["upstream", "restart", "a"],
        &["call", "read", "a:b"],
    ];
    for command in commands {
        let ran =
            place
                .run(command)
                .ended(3)
                .says(&["not running", "mcpproxy.sock", "mcpproxy serve"]);
        assert!(ran.stdout.is_empty());
    }
    place
        .run(&["stop"])
        .ended(3)
        .says(&["nothing to stop", "not running", "mcpproxy.sock"])
        .does_not_say(&["start the daemon"]);
    place
        .run(&["call", "notes:add_note"])
        .ended(2)
        .says(&["mcpproxy call read|write|destructive <SERVER:TOOL>"]);
    // A socket that a killed daemon left behind is no daemon.
    drop(UnixListener::bind(place.socket()));
    for command in commands {
        place.run(command).ended(3).says(&["not running"]);
    }
}
