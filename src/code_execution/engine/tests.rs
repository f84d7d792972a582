//! What comes of scripts, without a process around them.

use std::sync::{Arc, Mutex};

use super::*;

/// Answers each call with its own request, and remembers what was asked and logged.
#[derive(Clone, Default)]
struct Echo {
    batches: Arc<Mutex<Vec<String>>>,
    logs: Arc<Mutex<Vec<String>>>,
}

impl ScriptHost for Echo {
    fn call(&mut self, batch: CallBatch) -> Option<Vec<u8>> {
        let text = serde_json::to_string(&batch).expect("JSON");
        self.batches.lock().expect("one thread").push(text);
        let answers = batch.requests.iter().map(|request| {
            let request: serde_json::Value = serde_json::from_str(request.get()).expect("JSON");
            let args = request
                .get("args")
                .map_or("{}".to_owned(), ToString::to_string);
            let text = serde_json::Value::from(args);
            format!(r#"{{"ok":true,"result":{{"content":[{{"type":"text","text":{text}}}]}}}}"#)
        });
        let answers: Vec<String> = answers.collect();
        Some(format!("[{}]", answers.join(",")).into_bytes())
    }

    fn log(&mut self, line: String) -> bool {
        self.logs.lock().expect("one thread").push(line);
        true
    }
}

fn run_in(host: &Echo, code: &str) -> Result<String, ScriptFailure> {
    let script = ScriptStart {
        code: code.to_owned(),
        input: RawValue::from_string(r#"{"n":7}"#.to_owned()).expect("JSON"),
        wall_ms: 600_000,
        cpu_ms: 600_000,
    };
    let mut how = None;
    run(script, host.clone(), |end| how = Some(end));
    match how.expect("every script ends") {
        ScriptEnd::Value(value) => Ok(value.get().to_owned()),
        ScriptEnd::Failed(failure) => Err(failure),
    }
}

#[track_caller]
fn gives(code: &str, expected: &str) {
    let value = run_in(&Echo::default(), code);
    assert_eq!(value.as_deref(), Ok(expected), "{code}");
}

#[track_caller]
fn fails(code: &str, expected: ScriptCode, message: &str, position: Option<(u32, u32)>) {
    let failure = run_in(&Echo::default(), code).expect_err(code);
    assert_eq!(failure.code, expected, "{code}: {failure:?}");
    assert!(failure.message.contains(message), "{code}: {failure:?}");
    assert_eq!(failure.place.position, position, "{code}: {failure:?}");
}

#[test]
fn a_script_ends_with_its_last_expression_or_what_it_returns() {
    for (code, expected) in [
        ("1 + 1", "2"),
        ("", "null"),
        ("({a: [1, null, 'x']})", r#"{"a":[1,null,"x"]}"#),
        ("return input.n", "7"),
        ("const a = await 5; a + input.n", "12"),
        ("const a = await 5; return a", "5"),
        ("(async () => { await null; return [1] })()", "[1]"),
        ("if (input.n > 5) { return 'large' } 'small'", "\"large\""),
        ("const input = 3; input", "3"),
        ("x = 5; x * 2", "10"),
        ("return 1 // the end", "1"),
        (
            "Object.groupBy([1,2], n => n % 2 ? 'odd' : 'even')",
            r#"{"odd":[1],"even":[2]}"#,
        ),
        ("'\\ud83d\\ude00\\\\ud800'", r#""😀\\ud800""#),
        ("[undefined, () => 1]", "[null,null]"),
    ] {
        gives(code, expected);
    }
}

#[test]
fn calls_pass_their_arguments_and_give_the_data_of_results() {
    gives("call_tool('s', 't', {a: 1}).value.a", "1");
    gives("(await call_tool('s', 't', {a: 1})).value", r#"{"a":1}"#);
    gives(
        "call_tool('s', 't')",
        r#"{"ok":true,"result":{"content":[{"type":"text","text":"{}"}]}}"#,
    );
    gives(
        "call_tools([1,2,3].map(n => ({server: 's', tool: 't', args: {n}}))).map(a => a.value.n)",
        "[1,2,3]",
    );
    gives("call_tools([])", "[]");
    let host = Echo::default();
    let code = "call_tools([{server: 'a', tool: 'b'}], {max_parallel: 3}); call_tool('c', 'd', {x: 'ä\\n'})";
    run_in(&host, code).expect("a value");
    let batches = host.batches.lock().expect("one thread");
    assert_eq!(
        *batches,
        [
            r#"{"requests":[{"server":"a","tool":"b"}],"max_parallel":3,"at":{"stack":"    at <eval> (script.js:1:1)","position":[1,1]}}"#,
            r#"{"requests":[{"server":"c","tool":"d","args":{"x":"ä\n"}}],"max_parallel":1,"at":{"stack":"    at <eval> (script.js:1:59)","position":[1,59]}}"#,
        ]
    );
}

#[test]
fn what_a_script_writes_of_a_call_is_asked_whole() {
    for (code, expected) in [
        ("call_tool()", "{}"),
        (
            "call_tool('a', 'b', undefined, undefined)",
            r#"{"server":"a","tool":"b"}"#,
        ),
        (
            "call_tool('a', 'b', null)",
            r#"{"server":"a","tool":"b","args":null}"#,
        ),
        (
            "call_tool('a', {}, [1])",
            r#"{"server":"a","tool":{},"args":[1]}"#,
        ),
        (
            "call_tools([{server: 'a', tool: 'b', arguments: {n: 1}, args: undefined}])",
            r#"{"server":"a","tool":"b","arguments":{"n":1}}"#,
        ),
        (
            "call_tools([{tool: 'b', day: 'D', 'x\"': 1}])",
            r#"{"tool":"b","day":"D","x\"":1}"#,
        ),
    ] {
        let host = Echo::default();
        run_in(&host, code).expect(code);
        let asked = host.batches.lock().expect("one thread").concat();
        let requests = format!(r#"{{"requests":[{expected}],"#);
        assert!(asked.starts_with(&requests), "{code}: {asked}");
    }
}

#[test]
fn a_call_that_is_no_data_is_no_other_ones_business() {
    let code = "const calls = ['x', {server: 'a', tool: 'b', args: {n: 1}}, {server: 'a', args: () => 1}]; \
                call_tools(calls).map(a => a.value?.n ?? a.error.message)";
    gives(
        code,
        r#"["the call is not an object {server, tool, args}",1,"\"args\" is not data"]"#,
    );
}

#[test]
fn arguments_of_which_json_would_lose_a_part_are_not_sent() {
    for code in [
        "async function f() { return {a: 1}; } call_tool('a', 'b', f())",
        "call_tool('a', 'b', new Map([['id', 7]]))",
        "call_tool('a', 'b', Object.create({a: 1}))",
        "call_tool('a', 'b', {ids: [1].map(async x => x)})",
        "call_tool('a', 'b', {limit: NaN})",
        "call_tool('a', 'b', {f: () => 1})",
        "call_tool('a', 'b', {ids: [undefined]})",
        "call_tools([{server: 'a', tool: 'b', args: Promise.resolve({a: 1})}])[0]",
    ] {
        let host = Echo::default();
        let answer = run_in(&host, code).expect(code);
        assert!(format!("{answer:?}").contains("not plain data"), "{code}");
        let asked = host.batches.lock().expect("one thread").concat();
        assert_eq!(asked, "", "{code}");
    }
}

#[test]
fn what_is_no_call_is_an_answer_that_says_so() {
    for (code, expected, says) in [
        (
            "call_tool('a', 'b', () => 1)",
            "INVALID_ARGS",
            "\"args\" is not data",
        ),
        (
            "call_tool('a', 'b', {}, {})",
            "INVALID_ARGS",
            "three arguments",
        ),
        (
            "const o = {}; o.o = o; call_tool('a', 'b', o)",
            "SERIALIZATION_ERROR",
            "circular",
        ),
        (
            "call_tool('a', 'b', {n: 1n})",
            "SERIALIZATION_ERROR",
            "BigInt",
        ),
        (
            "call_tool('a', 'b', {get n() { throw 'no' }})",
            "SERIALIZATION_ERROR",
            "no",
        ),
        ("call_tools('a')", "INVALID_ARGS", "not an array"),
        ("call_tools([], {}, 1)", "INVALID_ARGS", "two arguments"),
        (
            "call_tools([], [])",
            "INVALID_ARGS",
            "options are not an object",
        ),
        (
            "call_tools([], 4)",
            "INVALID_ARGS",
            "options are not an object",
        ),
        (
            "call_tools([], {maxParallel: 1})",
            "INVALID_ARGS",
            "\"maxParallel\" is not a known option",
        ),
        (
            "call_tools([], {max_parallel: 0})",
            "INVALID_ARGS",
            "max_parallel",
        ),
        (
            "call_tools([], {max_parallel: 33})",
            "INVALID_ARGS",
            "max_parallel",
        ),
        (
            "call_tools(Array(101).fill({server: 'a', tool: 'b'}))",
            "INVALID_ARGS",
            "101 calls",
        ),
    ] {
        let host = Echo::default();
        let value = run_in(&host, code).expect(code);
        let answer: serde_json::Value = serde_json::from_str(&value).expect("JSON");
        assert_eq!(answer["ok"], false, "{code}");
        assert_eq!(answer["error"]["code"], expected, "{code}: {answer}");
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(message.contains(says), "{code}: {message}");
        assert!(
            host.batches.lock().expect("one thread").is_empty(),
            "{code}"
        );
    }
}

#[test]
fn logs_are_lines_of_text() {
    let host = Echo::default();
    let code = "console.log('a', 1, {b: [2]}, null, undefined); console.error(Symbol('s')); \
                console.warn({toJSON() { throw 1 }}, '\\ud800')";
    run_in(&host, code).expect("a value");
    let logs = host.logs.lock().expect("one thread");
    assert_eq!(
        *logs,
        [
            r#"a 1 {"b":[2]} null undefined"#,
            "Symbol(s)",
            "[object Object] \u{fffd}"
        ]
    );
}

#[test]
fn failures_say_what_and_where() {
    use ScriptCode::{OutputLimitExceeded, RuntimeError, SerializationError, SyntaxError};
    fails("let a = ;", SyntaxError, "unexpected ';'", Some((1, 9)));
    fails(
        "let a = 1;\nreturn a +;",
        SyntaxError,
        "unexpected ';'",
        Some((2, 11)),
    );
    fails(
        "1;\n  nothing()",
        RuntimeError,
        "nothing is not defined",
        Some((2, 3)),
    );
    fails(
        "return nothing()",
        RuntimeError,
        "nothing is not defined",
        Some((1, 8)),
    );
    fails(
        "throw new TypeError('no')",
        RuntimeError,
        "TypeError: no",
        Some((1, 11)),
    );
    fails("JSON.parse('{')", RuntimeError, "SyntaxError", Some((1, 5)));
    fails("eval('let let')", RuntimeError, "SyntaxError", Some((1, 1)));
    fails("throw 'a text'", RuntimeError, "thrown: a text", None);
    fails("throw {a: 1}", RuntimeError, r#"thrown: {"a":1}"#, None);
    fails(
        "await new Promise(() => {})",
        RuntimeError,
        "never settles",
        None,
    );
    fails(
        "await Promise.reject(new Error('x'))",
        RuntimeError,
        "Error: x",
        Some((1, 26)),
    );
    fails("() => 1", SerializationError, "a function", None);
    fails(
        "const o = {}; o.o = o; o",
        SerializationError,
        "circular",
        None,
    );
    fails("10n", SerializationError, "BigInt", None);
    for code in ["'\\ud800'", "({'x\\udc00': 1})"] {
        fails(code, SerializationError, "half a character", None);
    }
    fails(
        "let a = []; for (let i = 0; i < 200; i++) a = [a]; a",
        SerializationError,
        "128 levels",
        None,
    );
    fails(
        "'x'.repeat(2000000)",
        OutputLimitExceeded,
        "2000002 bytes",
        None,
    );
    fails("\0", SyntaxError, "", None);
    for floods in [
        "for (;;) console.log('x'.repeat(1000))",
        "for (;;) { try { for (;;) console.log('') } catch {} }",
    ] {
        let failure = run_in(&Echo::default(), floods).expect_err(floods);
        assert_eq!(failure.code, OutputLimitExceeded, "{failure:?}");
    }
    fails(
        "const f = () => f() + 1; f()",
        ScriptCode::StackOverflow,
        "call stack",
        Some((1, 16)),
    );
}

#[test]
fn the_prelude_has_the_limits_of_the_daemon() {
    let said = format!(
        "MOST = {}, MOST_PARALLEL = {}, PARALLEL = {}",
        limits::BATCH,
        limits::MAX_PARALLEL,
        limits::DEFAULT_PARALLEL
    );
    assert!(PRELUDE.contains(&said), "{said}");
}

/// How a script ends that has this time.
fn ended_within(milliseconds: u64, code: &str) -> ScriptFailure {
    let script = ScriptStart {
        code: code.to_owned(),
        input: RawValue::from_string("{}".to_owned()).expect("JSON"),
        wall_ms: milliseconds,
        cpu_ms: 600_000,
    };
    let mut how = None;
    run(script, Echo::default(), |end| how = Some(end));
    match how.expect("every script ends") {
        ScriptEnd::Value(value) => panic!("{code}: {}", value.get()),
        ScriptEnd::Failed(failure) => failure,
    }
}

#[test]
fn a_script_that_is_stopped_names_the_last_line_that_the_engine_knows() {
    for (code, line) in [
        ("let a = 1;\nMath.abs(a);\nfor (;;) {}", Some(2)),
        ("let a = 1;\nfor (;;) {\n Math.abs(a); }", Some(3)),
        (
            "const f = () => {\n Math.abs(1); for (;;) {} };\nf();",
            Some(2),
        ),
        ("await null;\nMath.abs(1);\nwhile (true) {}", Some(2)),
        ("let a = 1;\nfor (;;) {}", None),
        ("for (;;) await null;", None),
        (
            "const f = () => Promise.resolve().then(f);\nawait f();",
            None,
        ),
    ] {
        let failure = ended_within(50, code);
        assert_eq!(failure.code, ScriptCode::Timeout, "{code}");
        let found = failure.place.position.map(|(line, _)| line);
        assert_eq!(found, line, "{code}\n{failure:?}");
        let says = line.map_or("than 50 ms".to_owned(), |line| format!("near line {line}"));
        assert!(failure.message.ends_with(&says), "{code}\n{failure:?}");
    }
}

#[test]
fn a_script_that_ends_too_early_is_wrong_at_its_own_end() {
    for (code, end) in [("return 1 +", (1, 11)), ("1\nif (", (2, 5))] {
        fails(code, ScriptCode::SyntaxError, "is incomplete", Some(end));
    }
}

#[test]
fn a_step_that_is_lost_for_want_of_memory_ends_the_script() {
    for code in [
        "const f = () => Promise.resolve().then(f);\nawait f()",
        "const f = () => Promise.resolve().then(f).then(f);\nawait f()",
        "for (;;) Promise.resolve().then(() => {})",
    ] {
        let failure = ended_within(600_000, code);
        assert_eq!(failure.code, ScriptCode::OutOfMemory, "{code}: {failure:?}");
    }
    // It was told of that, and went on.
    let code =
        "let a = [];\ntry { for (;;) a.push({}); } catch { a = 0; }\nawait new Promise(() => {})";
    fails(code, ScriptCode::RuntimeError, "never settles", None);
}

#[test]
fn what_ran_out_of_memory_is_named() {
    for (code, line) in [
        (
            "const a = [];\nfor (;;) a.push(new Array(1000).fill('x'.repeat(100)));",
            2,
        ),
        ("const a = [];\nfor (;;) a.push({});", 2),
        ("const a = [];\nfor (;;) {\n  a.push([1,2,3]); }", 2),
        ("let a = null;\nfor (;;) { a = {a}; }", 2),
        ("let a = 'x';\nfor (;;) {\n  a = a + a;\n}", 3),
        ("let a = [1];\nfor (;;) a = [...a, ...a];", 2),
        (
            "const m = new Map();\nlet i = 0;\nfor (;;) m.set(i++, i);",
            3,
        ),
    ] {
        let failure = ended_within(600_000, code);
        assert_eq!(failure.code, ScriptCode::OutOfMemory, "{code}");
        let found = failure.place.position.map(|(line, _)| line);
        // Where there was no memory for an error either, the engine knows no place.
        let is_there = found.is_none_or(|found| (line..line + 2).contains(&found));
        assert!(is_there, "{code}\n{failure:?}");
    }
}

#[test]
fn what_was_logged_too_much_is_named_though_the_script_catches_it() {
    let code =
        "let a = 1;\nfor (;;) {\n try { for (;;)\n console.log(''); } catch {}\n let b = 1; }";
    let failure = run_in(&Echo::default(), code).expect_err(code);
    assert_eq!(failure.code, ScriptCode::OutputLimitExceeded);
    assert_eq!(failure.place.position, Some((4, 10)), "{failure:?}");
}
