//! The bundled demo server, driven as a child over its pipes: calls that take time. The rest is in `cli/transcripts/demo.txt`.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_mins(1);

struct Demo {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Demo {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mcpproxy"))
            .arg("demo-server")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the demo server starts");
        let output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines() {
                if sender.send(line.expect("stdout is text")).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self {
            child,
            input,
            lines,
        }
    }

    /// A server with which `revision` has been negotiated.
    fn speaking(revision: &str) -> Self {
        let mut demo = Self::start();
        let opened = demo.ask(
            "initialize",
            &json!({
                "protocolVersion": revision,
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        assert_eq!(opened["result"]["protocolVersion"], revision);
        demo.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        demo
    }

    fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("stdin is open");
        writeln!(input, "{line}").expect("the demo server reads");
    }

    fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    fn next(&self) -> Value {
        let line = self
            .lines
            .recv_timeout(DEADLINE)
            .expect("an answer in time");
        serde_json::from_str(&line).expect("every line is JSON")
    }

    /// Sends a request of id 1 and gives the next message.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
        self.next()
    }

    /// The result of a tool call.
    fn call(&mut self, name: &str, arguments: &Value) -> Value {
        self.ask(
            "tools/call",
            &json!({ "name": name, "arguments": arguments }),
        )["result"]
            .take()
    }

    fn close(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().expect("the child is ours").success());
        assert!(
            self.lines.recv_timeout(DEADLINE).is_err(),
            "nothing follows the last answer"
        );
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text block")
}

#[test]
fn a_slow_call_reports_progress_and_delays_nobody() {
    let mut demo = Demo::speaking("2025-11-25");
    demo.send(
        &json!({ "jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": {
        "name": "slow_count", "arguments": { "seconds": 2 }, "_meta": { "progressToken": "t" },
    } }),
    );
    assert_eq!(
        demo.ask("ping", &Value::Null)["id"],
        1,
        "the ping overtakes the count"
    );
    for second in 1..=2 {
        let progress = demo.next();
        assert_eq!(progress["method"], "notifications/progress");
        assert_eq!(progress["params"]["progressToken"], "t");
        assert_eq!(progress["params"]["progress"], second);
        assert_eq!(progress["params"]["total"], 2);
    }
    let done = demo.next();
    assert_eq!(
        (&done["id"], text(&done["result"])),
        (&json!("slow"), "Counted to 2.")
    );
    demo.close();
}

#[test]
fn a_cancelled_call_ends_without_an_answer() {
    let mut demo = Demo::speaking("2025-11-25");
    let slow = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "slow_count", "arguments": { "seconds": 60 },
    } });
    demo.send(&slow);
    demo.send(&slow);
    assert_eq!(
        demo.next()["error"]["code"],
        -32600,
        "an id is in flight once at a time"
    );
    demo.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 5 } }));
    assert_eq!(
        demo.call("echo", &json!({ "text": "still here" }))["content"][0]["text"],
        "still here"
    );
    demo.close();
}

#[test]
fn batches_are_served_in_the_one_revision_that_has_them() {
    let batch = json!([
        { "jsonrpc": "2.0", "id": "a", "method": "ping" },
        { "jsonrpc": "2.0", "method": "notifications/nothing" },
        { "jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {
            "name": "slow_count", "arguments": { "seconds": 1 },
        } },
    ]);
    let mut demo = Demo::speaking("2025-03-26");
    demo.send(&batch);
    let answers = demo.next();
    let ids: Vec<&Value> = answers
        .as_array()
        .expect("one array")
        .iter()
        .map(|answer| &answer["id"])
        .collect();
    assert_eq!(ids, ["a", "b"]);
    demo.close();

    let mut demo = Demo::speaking("2025-06-18");
    demo.send(&batch);
    assert_eq!(demo.next()["error"]["code"], -32600);
    demo.close();
}
