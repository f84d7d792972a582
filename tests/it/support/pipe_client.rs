//! An MCP client that starts our program and speaks raw lines with it, so that tests see every byte of its stdout.

use std::{
    fmt::Display,
    process::{ExitStatus, Stdio},
};

use serde_json::{Value, value::RawValue};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use super::{
    client::{Frame, Reply, call_params},
    daemon::Home,
    patience::{until_async, within},
};

/// A client and the process that serves it. Dropping it kills the process.
pub struct PipeClient {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
    last_id: u64,
    /// What came that answered nothing.
    pub notices: Vec<String>,
    /// Answers that nobody has waited for yet.
    early: Vec<(String, Reply)>,
}

/// A command of the real program in this home, with nothing of whoever runs the tests in its environment.
pub fn program(home: &Home, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpproxy"));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("SHELL", "/bin/sh")
        .env("HOME", home.folder())
        .arg("--config")
        .arg(home.existing_config_file())
        .arg("--data-dir")
        .arg(home.data_dir())
        .args(arguments)
        .stderr(home.log());
    command
}

impl PipeClient {
    /// Starts the program in this home: `stdio`, or `serve --stdio`.
    pub fn start(home: &Home, arguments: &[&str]) -> Self {
        Self::start_command(program(home, arguments))
    }

    pub fn start_command(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        Self {
            child,
            stdin,
            stdout,
            last_id: 0,
            notices: Vec::new(),
            early: Vec::new(),
        }
    }

    /// `initialize` and `notifications/initialized` of revision 2025-06-18.
    pub async fn open(&mut self) -> Reply {
        let answer = self.open_speaking("2025-06-18").await;
        answer.result();
        answer
    }

    pub async fn open_speaking(&mut self, revision: &str) -> Reply {
        let params = format!(
            r#"{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"test","version":"1"}}}}"#
        );
        let answer = self.request("initialize", params).await;
        self.notify("notifications/initialized", "{}").await;
        answer
    }

    /// Sends a request and gives its id.
    pub async fn ask(&mut self, method: &str, params: impl Display) -> String {
        self.last_id += 1;
        let id = self.last_id;
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        self.send(&line).await;
        id.to_string()
    }

    /// Calls a tool without arguments and gives the id.
    pub async fn ask_to_call(&mut self, tool: &str) -> String {
        self.ask("tools/call", call_params(tool, "{}")).await
    }

    /// Withdraws the request of this raw id.
    pub async fn withdraw(&mut self, id: &str) {
        let params = format!(r#"{{"requestId":{id}}}"#);
        self.notify("notifications/cancelled", params).await;
    }

    pub async fn request(&mut self, method: &str, params: impl Display) -> Reply {
        let id = self.ask(method, params).await;
        self.answer(&id).await
    }

    pub async fn notify(&mut self, method: &str, params: impl Display) {
        let line = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
        self.send(&line).await;
    }

    /// Sends a line as it is.
    pub async fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("an open stdin");
        let sending = async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.write_all(b"\n").await
        };
        within("the program to read", sending)
            .await
            .expect("an open pipe");
    }

    /// Closes both pipes, as the end of a client's process does, and waits for the end of the program.
    pub async fn vanish(self) -> ExitStatus {
        let mut child = self.child;
        drop((self.stdin, self.stdout));
        within("the program to end", child.wait())
            .await
            .expect("its status")
    }

    /// Calls a tool with raw arguments.
    pub async fn call(&mut self, tool: &str, arguments: impl Display) -> Reply {
        let params = call_params(tool, arguments);
        self.request("tools/call", params).await
    }

    /// The names that `tools/list` gives.
    pub async fn tool_names(&mut self) -> Vec<String> {
        let list = self.request("tools/list", "{}").await.value();
        let tools = list["tools"].as_array().expect("a list of tools");
        let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
        tools.iter().map(name).collect()
    }

    /// Waits until a tool of this name is listed.
    pub async fn wait_for_tool(&mut self, name: &str) {
        until_async(&format!("{name} in the list"), async || {
            let names = self.tool_names().await;
            names.iter().any(|known| known == name).then_some(())
        })
        .await;
    }

    /// Waits for the answer of this raw id.
    pub async fn answer(&mut self, id: &str) -> Reply {
        loop {
            if let Some(at) = self.early.iter().position(|(known, _)| known == id) {
                return self.early.remove(at).1;
            }
            let line = self.line().await;
            let line = line.unwrap_or_else(|| panic!("stdout ended before the answer to {id}"));
            self.sort(line);
        }
    }

    /// Waits for a notification of this method, one that came earlier included.
    pub async fn notice(&mut self, method: &str) -> String {
        loop {
            let is_wanted = |line: &String| Frame::read(line).method.as_deref() == Some(method);
            if let Some(at) = self.notices.iter().position(is_wanted) {
                return self.notices.remove(at);
            }
            let line = self.line().await;
            let line = line.unwrap_or_else(|| panic!("stdout ended before {method}"));
            self.sort(line);
        }
    }

    fn sort(&mut self, line: String) {
        let frame = Frame::read(&line);
        if frame.method.is_some() {
            self.notices.push(line);
            return;
        }
        let id = frame.id.map_or("null", RawValue::get).to_owned();
        self.early.push((id, Reply::of_line(line)));
    }

    /// The next line of stdout; nothing at its end.
    pub async fn line(&mut self) -> Option<String> {
        let line = within("a line on stdout", self.stdout.next_line()).await;
        line.expect("stdout is text")
    }

    /// Closes stdin, reads stdout to its end, and waits for the program.
    pub async fn leave(mut self) -> ExitStatus {
        self.close();
        while let Some(line) = self.line().await {
            self.sort(line);
        }
        self.wait().await
    }

    pub fn close(&mut self) {
        self.stdin = None;
    }

    pub async fn wait(&mut self) -> ExitStatus {
        let status = within("the program to end", self.child.wait()).await;
        status.expect("our child")
    }

    pub fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }
}
