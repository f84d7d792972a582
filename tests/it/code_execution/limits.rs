//! Every limit ends a script with its code, and nothing but the script.

use super::{answer, builder, failure, ready, run_with, value, with_echo};
use crate::support::prelude::*;

#[tokio::test]
async fn each_limit_has_its_code() {
    let (_upstream, _daemon, client) = with_echo().await;
    // The engine does not look at the clock in the last two of 400 ms: the daemon ends its process.
    for [code, expected, options] in rows(
        r#"
        for (;;) {} | TIMEOUT | {"timeout_ms": 400}
        try { for (;;) {} } catch { for (;;) {} } finally { for (;;) {} } | TIMEOUT | {"timeout_ms": 400}
        for (;;) await null | TIMEOUT | {"timeout_ms": 400}
        /^(a+)+$/.test('a'.repeat(40) + 'b') | TIMEOUT | {"timeout_ms": 400}
        Array.from({length: 1e5}, (_, i) => i % 7).sort(() => { for (;;) {} }) | TIMEOUT | {"timeout_ms": 400}
        new Array(1_000_000_000) + '' | TIMEOUT | {"timeout_ms": 400}
        const s = 'a'.repeat(3e7), n = 'a'.repeat(15e6) + 'b'; s.indexOf(n) | TIMEOUT | {"timeout_ms": 400}
        const a = []; for (;;) a.push(new Array(1000).fill('x'.repeat(100))) | OUT_OF_MEMORY | {}
        const a = []; for (;;) a.push(new ArrayBuffer(1e6)) | OUT_OF_MEMORY | {}
        let a = [1]; for (;;) a = [...a, ...a] | OUT_OF_MEMORY | {}
        function f() { return f() + 1 } f() | STACK_OVERFLOW | {}
        for (;;) console.log('x'.repeat(100)) | OUTPUT_LIMIT_EXCEEDED | {}
        'x'.repeat(2 << 20) | OUTPUT_LIMIT_EXCEEDED | {}
        let a = 1; a( | SYNTAX_ERROR | {}
        throw new Error('x') | RUNTIME_ERROR | {}
        () => 1 | SERIALIZATION_ERROR | {}
        "#,
    ) {
        let error = failure(&client, code, serde_json::from_str(options).expect("JSON")).await;
        assert_eq!(error["code"], expected, "{code}: {error}");
        assert!(
            error["hint"].is_string() && error["message"].is_string(),
            "{error}"
        );
    }
    assert_eq!(value(&client, "1 + 1").await, 2, "nothing else is affected");
}

#[tokio::test]
async fn what_is_configured_is_the_most_that_can_be_asked_for() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = builder()
        .upstream("up", &upstream)
        .config(json!({ "code_execution_timeout_ms": 2500, "code_execution_max_tool_calls": 2 }))
        .await;
    let client = ready(&daemon, "up__echo").await;
    let more = json!({ "timeout_ms": 600_000, "max_tool_calls": 0 });
    let error = failure(&client, "for (;;) {}", more.clone()).await;
    assert_eq!(error["message"], "the script took longer than 2500 ms");
    let code = "for (;;) call_tool('up', 'echo')";
    let error = failure(&client, code, more).await;
    assert_eq!(error["code"], "MAX_TOOL_CALLS_EXCEEDED", "{error}");
    assert_eq!(error["limited_by"], "configuration", "{error}");
    assert_eq!(upstream.received("tools/call").len(), 2);
}

#[tokio::test]
async fn what_ends_a_script_from_outside_names_the_call_that_was_waited_for() {
    let upstream = FakeUpstream::stdio()
        .tool("echo", echo())
        .tool("hang", hang())
        .await;
    let daemon = builder().upstream("up", &upstream).await;
    let client = ready(&daemon, "up__hang").await;
    let few = json!({ "max_tool_calls": 2 });
    let short = json!({ "timeout_ms": 2_500 });
    for (code, options, expected, line) in [
        (
            "let n = 0;\nfor (;;) {\n  call_tool('up', 'echo', {});\n}",
            &few,
            "MAX_TOOL_CALLS_EXCEEDED",
            3,
        ),
        (
            "const call = {server: 'up', tool: 'echo'};\nreturn await call_tools([call, call, call]);",
            &few,
            "MAX_TOOL_CALLS_EXCEEDED",
            2,
        ),
        (
            "const f = () => {\n  return call_tool('up', 'hang');\n};\nf();",
            &short,
            "TIMEOUT",
            2,
        ),
        (
            "let n = 0;\nawait call_tool('up', 'echo');\nwhile (true) {\n}",
            &short,
            "TIMEOUT",
            2,
        ),
    ] {
        let error = failure(&client, code, options.clone()).await;
        assert_eq!(error["code"], expected, "{code}: {error}");
        assert_eq!(error["line"], line, "{code}: {error}");
        let place = format!("script.js:{line}:{}", error["column"]);
        let stack = error["stack"].as_str().expect("a stack");
        assert!(
            stack.contains(&place) && !stack.contains("prelude"),
            "{stack}"
        );
        if code.contains("hang") {
            has!(error["message"], "waiting for up:hang in line 2");
            upstream.wait_for("notifications/cancelled").await;
        }
    }
    // A batch that is too large is not begun.
    assert_eq!(upstream.received("tools/call").len(), 2 + 1 + 1);
}

#[tokio::test]
async fn more_scripts_than_there_are_places_wait_and_too_many_are_refused() {
    let upstream = FakeUpstream::stdio()
        .tool("wait", gate("go").then(reply_text("gone")))
        .await;
    let daemon = builder().upstream("up", &upstream).await;
    let client = ready(&daemon, "up__wait").await;
    let client = &client;
    let script = async || {
        answer_or_failure(&run_with(client, "call_tool('up', 'wait').value", json!({})).await)
    };
    let scripts = (0..45).map(|_| script());
    let open = async {
        upstream.wait_for_count("tools/call", 8).await;
        // Those that are refused have been by then: nobody else is.
        until_async("the daemon to be asked", async || Some(())).await;
        upstream.open("go").await;
    };
    let (ended, ()) = tokio::join!(futures_util::future::join_all(scripts), open);
    let done = ended.iter().filter(|end| **end == "gone").count();
    let refused = ended.iter().filter(|end| **end == "overloaded").count();
    assert_eq!(done + refused, 45, "{ended:?}");
    assert!(done >= 40, "eight run and thirty-two wait: {ended:?}");
}

fn answer_or_failure(reply: &Reply) -> Value {
    let text: Value = serde_json::from_str(&reply.text()).expect("JSON");
    if text["ok"] == true {
        text["value"].clone()
    } else {
        text["code"].clone()
    }
}

#[tokio::test]
async fn logs_come_back_in_any_case_and_a_failure_says_where() {
    let (_upstream, _daemon, client) = with_echo().await;
    let found = answer(&run_with(&client, "console.log('a', {b: 1}); 1", json!({})).await);
    assert_eq!(found["logs"], json!(["a {\"b\":1}"]));
    let code = "console.log('a');\nconst f = () => {\n  return nothing;\n};\nreturn f();";
    let found = answer(&run_with(&client, code, json!({})).await);
    assert_eq!(found["logs"], json!(["a"]));
    is_like!(found["error"], { "code": "RUNTIME_ERROR", "line": 3, "column": 10 });
    let stack = found["error"]["stack"].as_str().expect("a stack");
    has!(stack, "at f (script.js:3:10)");
    lacks!(stack, "prelude");
    let found = answer(&run_with(&client, "1", json!({})).await);
    assert!(found.get("logs").is_none(), "{found}");
}
