//! The command line, run as the real program: transcripts of what it prints, and tests of what a transcript cannot hold, against the
//! files alone and against a daemon that plays back answers.

mod belonging;
mod completions;
mod connecting;
mod files;
mod importing;
#[cfg(target_os = "linux")]
mod playback;
mod service_run;
mod setting_up;
#[cfg(target_os = "linux")]
mod transcripts;

use std::{
    io::Write,
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::support::prelude::*;

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
        let mut ran = Ran::of(child.wait_with_output().expect("the program ends"));
        ran.stderr = self.home.without_places(&ran.stderr);
        ran
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
            has!(self.stderr, part, "no {part:?} in");
        }
        self
    }

    #[track_caller]
    fn does_not_say(self, parts: &[&str]) -> Self {
        for part in parts {
            lacks!(self.stderr, part, "{part:?} in");
        }
        self
    }

    #[track_caller]
    fn shows(self, parts: &[&str]) -> Self {
        for part in parts {
            has!(self.stdout, part, "no {part:?} in");
        }
        self
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).expect("stdout is JSON")
    }
}

#[test]
fn what_is_no_daemon_on_the_socket_is_not_taken_for_one() {
    let place = Place::new();
    // What a killed daemon left behind.
    drop(UnixListener::bind(place.socket()));
    place.run(&["status"]).ended(3).says(&["not running"]);
    std::fs::remove_file(place.socket()).expect("ours");
    let listener = UnixListener::bind(place.socket()).expect("bound");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.expect("a connection").write_all(b"220 hello\r\n");
        }
    });
    let status = place.run(&["status"]).ended(3);
    status.says(&["failed to reach the daemon"]);
}
