//! A person at a home: the command line, and what the activity log says there.

use std::process::Stdio;

use serde_json::Value;
use tokio::{io::AsyncWriteExt, process::Command};

use super::{daemon::Home, patience::within};

impl Home {
    /// The command line here, with nothing on its stdin.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcpproxy"));
        command
            .args(arguments)
            .arg("--config")
            .arg(self.config_file())
            .arg("--data-dir")
            .arg(self.data_dir())
            .env("USER", "somebody")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs the command line here: its exit code, stdout and stderr.
    pub async fn cli(&self, arguments: &[&str]) -> (i32, String, String) {
        self.run(self.command(arguments), "").await
    }

    /// Runs this command with this on its stdin.
    pub async fn run(&self, mut command: Command, input: &str) -> (i32, String, String) {
        if !input.is_empty() {
            command.stdin(Stdio::piped());
        }
        let mut running = command.spawn().expect("the program starts");
        if let Some(mut stdin) = running.stdin.take() {
            // A program that fails early does not read its input.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        let ran = running.wait_with_output();
        let ran = within("the command to end", ran).await.expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let code = ran.status.code().expect("a code");
        let (out, err) = (text(ran.stdout), self.without_places(&text(ran.stderr)));
        assert!(code != 101, "{err}");
        (code, out, err)
    }

    /// What a command said, whose own options are repeated in each command that it names.
    pub fn without_places(&self, said: &str) -> String {
        let (file, folder) = (self.config_file(), self.data_dir());
        let (file, folder) = (file.display(), folder.display());
        said.replace(&format!("--config {file} --data-dir {folder} "), "")
            .replace("--config ~/mcp_config.json --data-dir ~/data ", "")
    }

    /// The records of the activity log that are asked for.
    pub async fn activity(&self, query: &str) -> Vec<Value> {
        let path = format!("/api/v1/activity?{query}");
        let answer = self.rest("GET", &path, "").await.expect("a daemon");
        let page = answer.json();
        let records = page["records"].as_array();
        records.unwrap_or_else(|| panic!("{page}")).clone()
    }
}
