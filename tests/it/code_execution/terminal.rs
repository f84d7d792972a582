//! `mcpproxy code`: a script from a terminal.

use std::fs;

use serde_json::{Value, json};

use super::builder;
use crate::support::{behaviours::*, daemon::TestDaemon, fake_upstream::FakeUpstream};

#[tokio::test]
async fn a_script_in_a_file_runs_through_the_daemon() {
    let upstream = FakeUpstream::stdio()
        .tool("echo", echo())
        .tool("delete_all", echo())
        .start()
        .await;
    let daemon = builder().upstream("up", &upstream).start().await;
    daemon
        .client("/mcp/all")
        .await
        .wait_for_tool("up__echo")
        .await;
    let home = daemon.home();
    let file = home.folder().join("script.js");
    let file = file.to_str().expect("text");
    let run = async |code: &str, more: &[&str]| {
        fs::write(file, code).expect("the folder is ours");
        let arguments: Vec<&str> = ["code", file]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        home.cli(&arguments).await
    };
    let (code, out, err) = run(
        "console.log('so far'); return call_tool('up', 'echo', input).value",
        &["--input", r#"{"n":[1]}"#],
    )
    .await;
    assert_eq!(
        (code, out.as_str()),
        (0, "{\n  \"n\": [\n    1\n  ]\n}\n"),
        "{err}"
    );
    assert!(err.contains("so far"), "{err}");
    let (code, out, _) = run("'a text'", &[]).await;
    assert_eq!((code, out.as_str()), (0, "a text\n"));
    let (code, out, _) = run("1 + 1", &["-o", "json"]).await;
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(
        (code, answer),
        (0, json!({ "ok": true, "value": 2, "tool_calls": 0 }))
    );
    let (code, _, err) = run("let a = 1;\nnothing()", &[]).await;
    assert_eq!(code, 1);
    assert!(
        err.contains("RUNTIME_ERROR") && err.contains("script.js:2:1"),
        "{err}"
    );
    let (code, _, err) = run("for (;;) {}", &["--timeout", "300"]).await;
    assert_eq!(code, 1);
    assert!(err.contains("TIMEOUT") && err.contains("300 ms"), "{err}");
    let destroys = "call_tool('up', 'delete_all').error?.code ?? 'done'";
    let (_, out, _) = run(destroys, &[]).await;
    assert_eq!(out, "DESTRUCTIVE_NOT_ALLOWED\n");
    let (_, out, _) = run(destroys, &["--allow-destructive"]).await;
    assert_eq!(out, "done\n");
    let (code, _, err) = run(destroys, &["--allow-server", "other"]).await;
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("there is no such server"), "{err}");
    let (code, _, err) = run(
        "call_tool('up', 'echo'); call_tool('up', 'echo')",
        &["--max-tool-calls", "1"],
    )
    .await;
    assert_eq!(code, 1);
    assert!(err.contains("MAX_TOOL_CALLS_EXCEEDED"), "{err}");
    let (code, _, err) = run("1", &["--input", "{"]).await;
    assert_eq!(code, 2, "{err}");
    let (code, _, err) = home.cli(&["code", "nothing.js"]).await;
    assert_eq!(code, 1);
    assert!(err.contains("nothing.js"), "{err}");
    let recorded = home.activity("tool=code_execution").await;
    assert!(
        recorded
            .iter()
            .all(|record| record["endpoint"] == "/api/v1/code"),
        "{recorded:?}"
    );
}

#[tokio::test]
async fn it_says_how_scripts_are_switched_on_and_that_it_needs_a_daemon() {
    let daemon = TestDaemon::builder().start().await;
    let file = daemon.home().folder().join("script.js");
    fs::write(&file, "1").expect("the folder is ours");
    let file = file.to_str().expect("text").to_owned();
    let (code, _, err) = daemon.home().cli(&["code", &file]).await;
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("enable_code_execution"), "{err}");
    let home = daemon.shutdown().await;
    let (code, _, err) = home.cli(&["code", &file]).await;
    assert_eq!(code, 3, "{err}");
}
