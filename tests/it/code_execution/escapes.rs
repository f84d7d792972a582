//! What scripts try to reach: nothing is there, nothing of one is left for the next, and what they break they break for themselves.

#[cfg(target_os = "linux")]
use std::{fs, process::Stdio};

use super::{answer, run_with, value, with_echo};
use crate::support::prelude::*;

#[cfg(target_os = "linux")]
use tokio::{
    io::AsyncWriteExt,
    process::{Child, ChildStdin, Command},
};

/// Scripts and what they find.
const ATTEMPTS: &str = r#"
    [typeof require, typeof process, typeof fetch, typeof setTimeout, typeof std, typeof os, typeof WebAssembly, typeof Deno, typeof module] | ["undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined"]
    ({}).constructor.constructor('return typeof process + typeof require')() | "undefinedundefined"
    call_tool.constructor('return this === globalThis && typeof process')() | "undefined"
    (async () => {}).constructor('return typeof require')() | "undefined"
    console.log.constructor('return Object.keys(this).join()')() | "performance"
    Object.getOwnPropertyNames(call_tool).sort().join() | "length,name"
    (() => { try { return typeof call_tool.caller } catch (e) { return e.name } })() | "TypeError"
    (() => { try { return call_tool.arguments ?? 'none' } catch (e) { return e.name } })() | "TypeError"
    eval('typeof callTools + typeof logLine') | "undefinedundefined"
    import('fs').then(() => 'got it', e => 'refused') | "refused"
    import('/etc/passwd').then(() => 'got it', e => 'refused') | "refused"
    import('./prelude.js').then(() => 'got it', e => 'refused') | "refused"
    Array.prototype.map = Array.prototype.join = JSON.stringify = JSON.parse = () => { throw 'x' }; call_tool('up', 'echo', {n: 1}).value.n | 1
    Object.prototype.toJSON = () => ({server: 'other'}); call_tool('up', 'echo', {n: 1}).ok | true
    Object.defineProperty(Object.prototype, 'ok', {set() { throw 'x' }}); call_tool('up', 'echo', {n: 2}).value.n | 2
    Object.prototype.value = 7; Object.prototype.get = () => 7; call_tool('up', 'echo', {n: 3}).value.n | 3
    Object.defineProperty(Array.prototype, '0', {set() { throw 'x' }, configurable: true}); call_tools([]).length | 0
    Promise.prototype.then = () => { throw 'x' }; await 1; call_tool('up', 'echo', {n: 4}).value.n | 4
    call_tool('up', 'echo', JSON.parse('{"__proto__": {"polluted": 1}}')); ({}).polluted ?? 'clean' | "clean"
    input.__proto__.polluted = 1; [].polluted | 1
    call_tool('up', 'echo', new Proxy({}, {ownKeys() { throw 'x' }})).error.code | "SERIALIZATION_ERROR"
    call_tool('up', 'echo', new Proxy({a: 1}, {})).value.a | 1
    call_tool('up', 'echo', {get a() { throw new Error('x') }}).error.code | "SERIALIZATION_ERROR"
    call_tool('up', 'echo', {toJSON() { return [1] }}).error.code | "INVALID_ARGS"
    call_tool({toString() { return 'up' }}, 'echo').error.code | "INVALID_ARGS"
    call_tool('up', 'echo","args":{},"server":"other').error.code | "UNKNOWN_TOOL"
    let a = {}; for (let i = 0; i < 200; i++) a = {a}; call_tool('up', 'echo', a).error.code | "INVALID_ARGS"
    call_tool('mcpproxy', 'code_execution', {code: '1'}).error.code | "UNKNOWN_SERVER"
    call_tool('', 'code_execution', {code: '1'}).error.code | "INVALID_ARGS"
    call_tool('up', 'code_execution', {code: '1'}).error.code | "UNKNOWN_TOOL"
    (() => { try { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e6) } catch (e) { return e.name } })() | "TypeError"
"#;

/// Scripts that take something without end, and the codes with which they may end.
const FLOODS: &str = r"
    'x'.repeat(2 ** 30) | RUNTIME_ERROR OUT_OF_MEMORY
    let s = 'x'; for (;;) s += s | RUNTIME_ERROR OUT_OF_MEMORY
    'a'.padEnd(2 ** 29, 'b') | OUT_OF_MEMORY RUNTIME_ERROR
    call_tool('up', 'echo', {s: 'x'.repeat(9 << 20)}) | RUNTIME_ERROR TIMEOUT
    /(x+x+)+y/.test('x'.repeat(60)) | TIMEOUT
    'a'.repeat(1e5).match(/(.*)*(.*)*(.*)*b/) | TIMEOUT
    for (;;) Promise.resolve().then(() => {}) | TIMEOUT OUT_OF_MEMORY ENGINE_FAILED
    const f = () => Promise.resolve().then(f).then(f); await f() | TIMEOUT OUT_OF_MEMORY ENGINE_FAILED
    await new Promise(() => {}) | RUNTIME_ERROR
    ({get value() { for (;;) {} }}) | TIMEOUT
    ({toJSON() { throw new Error('x') }}) | SERIALIZATION_ERROR
    new Proxy({}, {ownKeys() { for (;;) {} }}) | TIMEOUT
    throw {toString() { for (;;) {} }, toJSON() { for (;;) {} }} | TIMEOUT
    throw Object.defineProperty(new Error('x'), 'message', {get() { for (;;) {} }}) | TIMEOUT RUNTIME_ERROR
    (2n ** 10000000n) ** 100n | TIMEOUT RUNTIME_ERROR OUT_OF_MEMORY
    eval('('.repeat(1e6)) | STACK_OVERFLOW RUNTIME_ERROR SYNTAX_ERROR OUT_OF_MEMORY
";

#[tokio::test]
async fn nothing_is_reached() {
    let (upstream, _daemon, client) = with_echo().await;
    for [code, expected] in rows(ATTEMPTS) {
        let found = answer(&run_with(&client, code, json!({})).await);
        let expected: Value = serde_json::from_str(expected).expect("JSON");
        assert_eq!(found["value"], expected, "{code}: {found}");
    }
    let sent = upstream.received("tools/call");
    assert!(
        sent.iter().all(|call| call.contains(r#""name":"echo""#)),
        "{sent:?}"
    );
}

#[tokio::test]
async fn what_takes_without_end_is_ended() {
    let (_upstream, _daemon, client) = with_echo().await;
    for [code, expected] in rows(FLOODS) {
        // The others are to end by themselves.
        let timeout = if expected.contains("TIMEOUT") {
            500
        } else {
            2000
        };
        let found = answer(&run_with(&client, code, json!({ "timeout_ms": timeout })).await);
        let code_of = found["error"]["code"]
            .as_str()
            .unwrap_or_else(|| panic!("{code}: {found}"));
        assert!(
            expected.split(' ').any(|one| one == code_of),
            "{code}: {found}"
        );
    }
    assert_eq!(value(&client, "'as before'").await, "as before");
}

#[tokio::test]
async fn nothing_of_a_script_is_there_for_the_next() {
    let (_upstream, _daemon, client) = with_echo().await;
    let first = "globalThis.secret = 'x'; Object.prototype.secret = 'x'; Array.prototype.push = () => 'x'; \
                 call_tool = () => 'x'; console.log = () => {}; Math.random = () => 4; input.left = 'x'; 1";
    let second = "[typeof secret, ({}).secret ?? null, [].push(1), call_tool('up', 'echo', {n: 1}).value.n, \
                  Object.keys(input).length, Math.random() < 1]";
    let expected = json!(["undefined", null, 1, 1, 0, true]);
    for _ in 0..3 {
        assert_eq!(value(&client, first).await, 1);
        assert_eq!(value(&client, second).await, expected);
    }
}

/// The process of a script by itself, with what it is told first.
#[cfg(target_os = "linux")]
async fn process_of(code: &str, cpu_ms: u64) -> (Child, ChildStdin) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_mcpproxy"))
        .arg("run-script")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts");
    let mut input = process.stdin.take().expect("a pipe");
    let start = json!({ "code": code, "input": {}, "wall_ms": 600_000, "cpu_ms": cpu_ms });
    let line = format!("{start}\n");
    input.write_all(line.as_bytes()).await.expect("it reads");
    (process, input)
}

/// What it says last.
#[cfg(target_os = "linux")]
async fn end_of(process: Child) -> Value {
    let output = within("the process to end", process.wait_with_output()).await;
    let output = output.expect("our child");
    let text = String::from_utf8(output.stdout).expect("text");
    let last = text.lines().last().unwrap_or("null");
    serde_json::from_str(last).expect("JSON")
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_process_of_a_script_limits_itself() {
    let (mut process, _input) = process_of("for (;;) {}", 600_000).await;
    let pid = process.id().expect("it runs");
    let limits = until("its limits", || {
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
        let is_set = |name: &str, value: &str| {
            let row = limits.lines().find(|row| row.starts_with(name));
            row.is_some_and(|row| row.split_whitespace().any(|word| word == value))
        };
        let all = [
            ("Max open files", "16"),
            ("Max file size", "0"),
            ("Max core file size", "0"),
            ("Max cpu time", "602"),
            ("Max address space", "4294967296"),
        ];
        all.iter()
            .all(|(name, value)| is_set(name, value))
            .then_some(limits)
    });
    limits.await;
    process.kill().await.expect("it is ours");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_script_computes_no_longer_than_it_may_and_ends_without_the_daemon() {
    let (process, _input) = process_of("for (;;) {}", 200).await;
    let failed = end_of(process).await["ended"]["failed"].take();
    assert_eq!(failed["code"], "TIMEOUT", "{failed}");
    assert_eq!(
        failed["message"],
        "the script computed for more than 200 ms, which timeout_ms cannot extend"
    );
    // Whoever asked is gone, and hears nothing.
    for code in ["for (;;) {}", "call_tool('a', 'b')"] {
        let (process, input) = process_of(code, 600_000).await;
        drop(input);
        assert_eq!(end_of(process).await["ended"], Value::Null, "{code}");
    }
    // What is no script is an end, too.
    let (process, _input) = process_of("\0", 200).await;
    assert_eq!(
        end_of(process).await["ended"]["failed"]["code"],
        "SYNTAX_ERROR"
    );
}
