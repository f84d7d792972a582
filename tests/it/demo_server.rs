//! The bundled demo server, driven as a child over its pipes.

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
fn every_legacy_revision_is_negotiated_and_an_unknown_one_gets_the_newest() {
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut demo = Demo::start();
        let opened = demo.ask("initialize", &json!({ "protocolVersion": asked }));
        assert_eq!(
            opened["result"]["protocolVersion"], answered,
            "asked for {asked}"
        );
        assert_eq!(opened["result"]["serverInfo"]["name"], "mcpproxy-demo");
        demo.close();
    }
}

#[test]
fn the_tools_are_listed_with_their_hints_and_each_answers() {
    let mut demo = Demo::speaking("2025-11-25");
    let listed = demo.ask("tools/list", &json!({}));
    let hints: Vec<(&str, Option<bool>, Option<bool>)> = listed["result"]["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| {
            assert_eq!(tool["inputSchema"]["type"], "object");
            assert_eq!(tool["inputSchema"]["additionalProperties"], false);
            assert!(tool["title"].is_string() && tool["description"].is_string());
            let hints = &tool["annotations"];
            (
                tool["name"].as_str().expect("a name"),
                hints["readOnlyHint"].as_bool(),
                hints["destructiveHint"].as_bool(),
            )
        })
        .collect();
    assert_eq!(
        hints,
        [
            ("echo", Some(true), None),
            ("add", Some(true), None),
            ("time_now", Some(true), None),
            ("notes_write", Some(false), Some(false)),
            ("notes_list", Some(true), None),
            ("notes_delete", Some(false), Some(true)),
            ("slow_count", Some(true), None),
        ]
    );
    assert_eq!(
        text(&demo.call("echo", &json!({ "text": "grüße\n" }))),
        "grüße\n"
    );
    let sum = demo.call("add", &json!({ "a": 2, "b": 40 }));
    assert_eq!(
        (text(&sum), &sum["structuredContent"]),
        ("{\"sum\":42}", &json!({ "sum": 42 }))
    );
    assert_eq!(
        demo.call("add", &json!({ "a": 0.5, "b": 1 }))["structuredContent"]["sum"],
        1.5
    );
    assert!(text(&demo.call("time_now", &json!({}))).ends_with('Z'));
    demo.close();
}

#[test]
fn notes_are_written_listed_and_deleted() {
    let mut demo = Demo::speaking("2025-06-18");
    assert_eq!(
        text(&demo.call("notes_list", &json!({}))),
        "There are no such notes."
    );
    for (title, body) in [("milk", "two bottles"), ("bread", "rye")] {
        let written = demo.call("notes_write", &json!({ "title": title, "text": body }));
        assert_eq!(text(&written), format!("Wrote the note {title:?}."));
    }
    assert_eq!(
        text(&demo.call("notes_list", &json!({}))),
        "bread: rye\nmilk: two bottles"
    );
    assert_eq!(
        text(&demo.call("notes_list", &json!({ "containing": "rye" }))),
        "bread: rye"
    );
    assert!(demo.call("notes_delete", &json!({ "title": "milk" }))["isError"].is_null());
    assert_eq!(
        demo.call("notes_delete", &json!({ "title": "milk" }))["isError"],
        true
    );
    assert_eq!(text(&demo.call("notes_list", &json!({}))), "bread: rye");
    demo.close();
}

#[test]
fn wrong_arguments_are_results_that_say_what_is_wrong() {
    let mut demo = Demo::speaking("2025-11-25");
    for (tool, arguments, complaint) in [
        ("echo", json!({}), "the argument \"text\" is missing"),
        (
            "echo",
            json!({ "text": 1 }),
            "the argument \"text\" must be a string",
        ),
        (
            "echo",
            json!({ "text": "a", "x": 1 }),
            "there is no argument \"x\"; known are: text",
        ),
        (
            "time_now",
            json!({ "zone": "UTC" }),
            "there is no argument \"zone\"; known are: none",
        ),
        (
            "slow_count",
            json!({ "seconds": 61 }),
            "the argument \"seconds\" must be a whole number from 1 to 60",
        ),
        (
            "add",
            json!({ "a": 1e308, "b": 1e308 }),
            "the sum is too large for a number",
        ),
    ] {
        let result = demo.call(tool, &arguments);
        assert_eq!(
            (&result["isError"], text(&result)),
            (&json!(true), complaint)
        );
    }
    demo.close();
}

#[test]
fn what_is_not_served_gets_the_fitting_error() {
    let mut demo = Demo::speaking("2025-11-25");
    for (method, params, code) in [
        ("server/discover", json!({}), -32601),
        ("resources/subscribe", json!({}), -32601),
        ("tools/call", json!({ "name": "nothing" }), -32602),
        ("tools/call", json!({}), -32602),
        (
            "tools/call",
            json!({ "name": "echo", "arguments": [] }),
            -32602,
        ),
        ("resources/read", json!({ "uri": "demo://nothing" }), -32002),
        ("prompts/get", json!({ "name": "nothing" }), -32602),
    ] {
        let answer = demo.ask(method, &params);
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(1), &json!(code)),
            "{method}"
        );
    }
    for (line, code, id) in [
        ("{", -32700, Value::Null),
        ("\u{7f}", -32700, Value::Null),
        ("null", -32600, Value::Null),
        ("[]", -32600, Value::Null),
        (
            "{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}",
            -32600,
            json!(7),
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
            -32600,
            Value::Null,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\",\"params\":[]}",
            -32600,
            json!("x"),
        ),
    ] {
        demo.send_line(line);
        let answer = demo.next();
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(code), &id),
            "{line}"
        );
    }
    demo.send_line("");
    demo.send(&json!({ "jsonrpc": "2.0", "id": "nobody asked", "result": {} }));
    assert_eq!(demo.ask("ping", &Value::Null)["result"], json!({}));
    demo.close();
}

#[test]
fn the_resource_is_read_and_the_prompt_is_filled_in() {
    let mut demo = Demo::speaking("2024-11-05");
    let listed = demo.ask("resources/list", &json!({}));
    let uri = listed["result"]["resources"][0]["uri"].clone();
    let read = demo.ask("resources/read", &json!({ "uri": uri }));
    assert_eq!(read["result"]["contents"][0]["mimeType"], "text/markdown");
    let listed = demo.ask("prompts/list", &json!({}));
    let name = listed["result"]["prompts"][0]["name"].clone();
    let prompt = demo.ask(
        "prompts/get",
        &json!({ "name": name, "arguments": { "language": "Latin" } }),
    );
    let said = prompt["result"]["messages"][0]["content"]["text"]
        .as_str()
        .expect("text");
    assert!(said.contains("Latin"), "{said}");
    demo.close();
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

#[test]
fn a_line_that_is_too_long_is_skipped() {
    let mut demo = Demo::speaking("2025-11-25");
    let padding = "x".repeat(5 * 1024 * 1024);
    demo.send(
        &json!({ "jsonrpc": "2.0", "id": 2, "method": "ping", "params": { "padding": padding } }),
    );
    assert_eq!(demo.next()["error"]["code"], -32700);
    assert_eq!(demo.ask("ping", &Value::Null)["result"], json!({}));
    demo.close();
}
