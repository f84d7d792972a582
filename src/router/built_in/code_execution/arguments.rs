//! The arguments of a script and of the calls in it, and what it may take: never more than is configured. Pure.

use std::time::Duration;

use serde_json::value::RawValue;

use crate::{
    code_execution::{ScriptCode, ScriptEnd, limits},
    config::CodeExecution,
    router::built_in::arguments::{check_keys, flag, number, passed_on, required},
    wire::Raw,
};

/// The request to run a script.
pub(super) struct ScriptRequest {
    pub(super) code: String,
    pub(super) input: Box<RawValue>,
    pub(super) wall: Duration,
    /// `None` where calls are not limited.
    pub(super) max_tool_calls: Option<usize>,
    /// Empty where all servers are allowed.
    pub(super) allowed_servers: Vec<String>,
    pub(super) allows_destructive: bool,
    /// What is configured.
    most: CodeExecution,
}

pub(super) const OPTIONS: [&str; 4] = [
    "timeout_ms",
    "max_tool_calls",
    "allowed_servers",
    "allow_destructive",
];

impl ScriptRequest {
    pub(super) fn read(arguments: &Raw, most: CodeExecution) -> Result<Self, String> {
        let stray = OPTIONS.iter().find(|key| arguments.get(key).is_some());
        if let Some(key) = stray {
            return Err(format!("\"{key}\" belongs in \"options\""));
        }
        let code = required(arguments, "code")?;
        if code.len() > limits::CODE {
            return Err(format!(
                "\"code\" is larger than {} KiB; give large data as \"input\"",
                limits::CODE >> 10
            ));
        }
        let options = arguments.get("options").filter(|value| !value.is_null());
        let options = options.unwrap_or_else(Raw::empty_object);
        if !options.is_object() {
            return Err("\"options\" is not an object".to_owned());
        }
        check_keys(&options, "in \"options\"", &OPTIONS, &[])?;
        let timeout = number(&options, "timeout_ms", 1)?.unwrap_or(most.timeout_ms);
        let timeout = timeout.min(most.timeout_ms);
        let calls = number(&options, "max_tool_calls", 0)?.unwrap_or(0);
        // 0 is no limit.
        let calls = [calls, most.max_tool_calls].into_iter().filter(|n| *n > 0);
        Ok(Self {
            code,
            input: read_input(arguments.get("input"))?,
            wall: Duration::from_millis(u64::try_from(timeout).unwrap_or(u64::MAX)),
            max_tool_calls: calls.min(),
            allowed_servers: read_servers(&options)?,
            allows_destructive: flag(&options, "allow_destructive")?,
            most,
        })
    }

    /// Whether the script ended by a limit that no option could raise.
    pub(super) fn is_configured(&self, end: &ScriptEnd) -> bool {
        let ScriptEnd::Failed(failure) = end else {
            return false;
        };
        match failure.code {
            ScriptCode::Timeout => {
                usize::try_from(self.wall.as_millis()) == Ok(self.most.timeout_ms)
            }
            ScriptCode::MaxToolCallsExceeded => {
                self.max_tool_calls == Some(self.most.max_tool_calls)
            }
            _ => false,
        }
    }

    pub(super) fn allows(&self, server: &str) -> bool {
        self.allowed_servers.is_empty() || self.allowed_servers.iter().any(|one| one == server)
    }
}

/// One call of a script, by the same rules as the tools that clients call.
pub(super) struct InnerCall {
    pub(super) server: String,
    /// The server's own name of the tool.
    pub(super) tool: String,
    /// An object; empty if the script gave none.
    pub(super) arguments: Raw,
}

impl InnerCall {
    pub(super) fn read(written: &RawValue) -> Result<Self, String> {
        let call = Raw::parse_str(written.get()).map_err(|error| format!("the call is {error}"))?;
        if !call.is_object() {
            return Err("the call is not an object".to_owned());
        }
        let known = ["server", "tool", "args", "args_json"];
        check_keys(&call, "in the call", &known, &["arguments"])?;
        let arguments = passed_on(&call)?.unwrap_or_else(Raw::empty_object);
        if arguments.is_deeper_than(limits::DEPTH) {
            let most = limits::DEPTH;
            return Err(format!("the arguments nest deeper than {most} levels"));
        }
        Ok(Self {
            server: name(&call, "server")?,
            tool: name(&call, "tool")?,
            arguments,
        })
    }
}

fn name(call: &Raw, key: &str) -> Result<String, String> {
    match required(call, key)? {
        name if name.is_empty() => Err(format!("\"{key}\" is empty")),
        name => Ok(name),
    }
}

/// Any JSON; an empty object if there is none.
fn read_input(input: Option<Raw>) -> Result<Box<RawValue>, String> {
    let input = input.unwrap_or_else(Raw::empty_object);
    if input.is_deeper_than(limits::DEPTH) {
        let most = limits::DEPTH;
        return Err(format!("\"input\" nests deeper than {most} levels"));
    }
    RawValue::from_string(input.as_str().to_owned())
        .map_err(|error| format!("\"input\" is {error}"))
}

fn read_servers(options: &Raw) -> Result<Vec<String>, String> {
    let Some(servers) = options
        .get("allowed_servers")
        .filter(|value| !value.is_null())
    else {
        return Ok(Vec::new());
    };
    let wrong = || "\"allowed_servers\" must be a list of names".to_owned();
    if !servers.as_bytes().starts_with(b"[") {
        return Err(wrong());
    }
    let names = servers.elements().map(|name| name.string());
    names.collect::<Option<Vec<_>>>().ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: CodeExecution = CodeExecution {
        is_on: true,
        timeout_ms: 1000,
        max_tool_calls: 5,
    };

    #[track_caller]
    fn check(arguments: &str, most: CodeExecution, expected: Result<&str, &str>) {
        let arguments = Raw::parse_str(arguments).expect("JSON");
        let read = ScriptRequest::read(&arguments, most).map(|read| {
            format!(
                "{} {} {} {:?} {:?} {}",
                read.code,
                read.input.get(),
                read.wall.as_millis(),
                read.max_tool_calls,
                read.allowed_servers,
                read.allows_destructive
            )
        });
        assert_eq!(read.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn a_script_gets_what_it_asks_for_within_what_is_configured() {
        check(r#"{"code":"1"}"#, MOST, Ok("1 {} 1000 Some(5) [] false"));
        let all = r#"{"code":"1","input":{"n":1.10},"options":{"timeout_ms":"500","max_tool_calls":3,"allowed_servers":["a"],"allow_destructive":true}}"#;
        check(all, MOST, Ok(r#"1 {"n":1.10} 500 Some(3) ["a"] true"#));
        let more = r#"{"code":"1","input":null,"options":{"timeout_ms":5000,"max_tool_calls":9}}"#;
        check(more, MOST, Ok("1 null 1000 Some(5) [] false"));
        let none = CodeExecution {
            max_tool_calls: 0,
            ..MOST
        };
        let zero = r#"{"code":"1","options":{"max_tool_calls":0}}"#;
        check(zero, none, Ok("1 {} 1000 None [] false"));
        check(zero, MOST, Ok("1 {} 1000 Some(5) [] false"));
        check(more, none, Ok("1 null 1000 Some(9) [] false"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        check("{}", MOST, Err("\"code\" is missing"));
        check(r#"{"code":1}"#, MOST, Err("\"code\" is not a string"));
        let near = "\"timeout\" is unknown in \"options\" (did you mean \"timeout_ms\"?)";
        check(r#"{"code":"","options":{"timeout":1}}"#, MOST, Err(near));
        let zero = "\"timeout_ms\" must be at least 1, not 0";
        check(r#"{"code":"","options":{"timeout_ms":0}}"#, MOST, Err(zero));
        let fewer = "\"max_tool_calls\" must be at least 0, not -1";
        check(
            r#"{"code":"","options":{"max_tool_calls":-1}}"#,
            MOST,
            Err(fewer),
        );
        let servers = "\"allowed_servers\" must be a list of names";
        for wrong in ["\"a\"", "[1]", "{}"] {
            let arguments = format!(r#"{{"code":"","options":{{"allowed_servers":{wrong}}}}}"#);
            check(&arguments, MOST, Err(servers));
        }
        let deep = format!(
            r#"{{"code":"","input":{}1{}}}"#,
            "[".repeat(129),
            "]".repeat(129)
        );
        check(&deep, MOST, Err("\"input\" nests deeper than 128 levels"));
        let long = format!(r#"{{"code":"{}"}}"#, "x".repeat(limits::CODE + 1));
        check(
            &long,
            MOST,
            Err("\"code\" is larger than 256 KiB; give large data as \"input\""),
        );
    }
    #[test]
    fn a_call_runs_with_what_was_meant_or_not_at_all() {
        let check = |more: &str, expected: Result<&str, &str>| {
            let written = format!(r#"{{"server":"s","tool":"wipe"{more}}}"#);
            let written = RawValue::from_string(written).expect("JSON");
            let read = InnerCall::read(&written);
            let read = read.map(|call| call.arguments.as_str().to_owned());
            assert_eq!(read.as_deref().map_err(String::as_str), expected, "{more}");
        };
        let day = r#"{"day":1.0}"#;
        check("", Ok("{}"));
        check(r#","args":{}"#, Ok("{}"));
        check(r#","args":{"day":1.0}"#, Ok(day));
        check(r#","arguments":{"day":1.0}"#, Ok(day));
        check(r#","args_json":"{\"day\":1.0}""#, Ok(day));
        check(r#","args":"{\"day\":1.0}""#, Ok(day));
        check(r#","args":null,"arguments":{"day":1.0}"#, Ok(day));
        check(r#","args":null"#, Err("\"args\" is null"));
        check(r#","arguments":null"#, Err("\"arguments\" is null"));
        check(r#","args":[]"#, Err("\"args\" is not an object"));
        check(r#","args":"""#, Err("\"args\" is empty"));
        let object = "\"args_json\" is not a string; an object goes into \"args\"";
        check(r#","args_json":{}"#, Err(object));
        let both = "\"args\" and \"arguments\" are both given; give one";
        check(r#","args":{},"arguments":{"day":1.0}"#, Err(both));
        let near = "\"Args\" is unknown in the call (did you mean \"args\"?)";
        check(r#","Args":{"day":1.0}"#, Err(near));
        let listed = "\"day\" is unknown in the call; known: server, tool, args, args_json";
        check(r#","day":"D""#, Err(listed));
        let beside = "\"foo\" is unknown in the call; known: server, tool, args, args_json";
        check(r#","args":{},"foo":1"#, Err(beside));
        check(r#","tool":"save""#, Err("\"tool\" is in the call twice"));
        let deep = format!(r#","args":{{"a":{}1{}}}"#, "[".repeat(128), "]".repeat(128));
        check(&deep, Err("the arguments nest deeper than 128 levels"));
    }

    #[test]
    fn a_call_names_its_server_and_its_tool() {
        let check = |written: &str, expected: &str| {
            let written = RawValue::from_string(written.to_owned()).expect("JSON");
            let error = InnerCall::read(&written).err();
            assert_eq!(error.as_deref(), Some(expected));
        };
        check("[]", "the call is not an object");
        check(r#"{"tool":"t"}"#, "\"server\" is missing");
        check(r#"{"server":"s"}"#, "\"tool\" is missing");
        check(r#"{"server":"s","tool":{}}"#, "\"tool\" is not a string");
        check(r#"{"server":7,"tool":"t"}"#, "\"server\" is not a string");
        check(r#"{"server":"","tool":"t"}"#, "\"server\" is empty");
    }
}
