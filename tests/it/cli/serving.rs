//! A daemon as a process of its own, beside the commands.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

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
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
