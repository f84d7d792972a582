//! Reads the arguments of `proxy`. Every error names the wrong parameter (seed 001, sections 2.2 and 2.3). Pure.

use crate::{
    router::built_in::arguments::{ARGUMENT_KEYS, passed_on, required, string},
    wire::Raw,
};

/// The argument `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProxyType {
    Tool,
    Resource,
    Prompt,
}

/// One request to `proxy`.
#[derive(Debug)]
pub(super) enum ProxyRequest {
    /// Lists all things of a type.
    List(ProxyType),
    /// Describes the thing at this path.
    Info(ProxyType, String),
    /// Calls, reads or gets the thing at this path, with these arguments.
    Call(ProxyType, String, Option<Raw>),
}

pub(super) const ACTIONS: [&str; 3] = ["list", "info", "call"];

pub(super) const TYPES: [&str; 3] = ["tool", "resource", "prompt"];

/// Characters of a wrong value that an error repeats.
const SHOWN: usize = 64;

impl ProxyType {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
        }
    }
}

impl ProxyRequest {
    /// Reads the arguments, each of which is known and given once. A null counts as absent.
    pub(super) fn read(arguments: &Raw) -> Result<Self, String> {
        let action = one_of(arguments, "action", &ACTIONS)?;
        let kind = match &*one_of(arguments, "type", &TYPES)? {
            "tool" => ProxyType::Tool,
            "resource" => ProxyType::Resource,
            _ => ProxyType::Prompt,
        };
        let path = string(arguments, "path")?;
        if action != "call" {
            no_arguments(arguments, &action)?;
        }
        if action == "list" {
            return match path {
                None => Ok(Self::List(kind)),
                Some(_) => Err("\"path\" cannot be given with \"action\": \"list\"".to_owned()),
            };
        }
        let path =
            path.ok_or_else(|| format!("\"path\" is missing; \"action\": {action:?} needs it"))?;
        if path.is_empty() {
            return Err("\"path\" is empty".to_owned());
        }
        Ok(if action == "info" {
            Self::Info(kind, path)
        } else {
            Self::Call(kind, path, passed_on(arguments)?)
        })
    }
}

fn one_of(arguments: &Raw, key: &str, known: &[&str]) -> Result<String, String> {
    let value = required(arguments, key)?;
    if known.contains(&&*value) {
        return Ok(value);
    }
    let shown: String = value.chars().take(SHOWN).collect();
    let known = known.join(", ");
    Err(format!("\"{key}\" cannot be {shown:?}; use one of {known}"))
}

fn no_arguments(arguments: &Raw, action: &str) -> Result<(), String> {
    let is_given = |key: &&&str| arguments.get(key).is_some_and(|value| !value.is_null());
    match ARGUMENT_KEYS.iter().find(is_given) {
        None => Ok(()),
        Some(key) => Err(format!(
            "\"{key}\" cannot be given with \"action\": {action:?}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &str, expected: Result<&str, &str>) {
        let read = ProxyRequest::read(&Raw::parse_str(arguments).expect("JSON"));
        let read = read.map(|request| match request {
            ProxyRequest::List(kind) => format!("list {}", kind.as_str()),
            ProxyRequest::Info(kind, path) => format!("info {} {path}", kind.as_str()),
            ProxyRequest::Call(kind, path, args) => {
                let args = args.as_ref().map_or("none", Raw::as_str);
                format!("call {} {path} {args}", kind.as_str())
            }
        });
        let read = read.as_deref().map_err(String::as_str);
        assert_eq!(read, expected, "{arguments}");
    }

    #[test]
    fn what_is_asked_for_is_read() {
        for kind in TYPES {
            let asked = format!(r#"{{"action":"list","type":"{kind}"}}"#);
            check(&asked, Ok(&format!("list {kind}")));
            let asked = format!(r#"{{"action":"info","type":"{kind}","path":"p"}}"#);
            check(&asked, Ok(&format!("info {kind} p")));
            let asked = format!(r#"{{"action":"call","type":"{kind}","path":"p"}}"#);
            check(&asked, Ok(&format!("call {kind} p none")));
        }
        for (key, args) in [
            ("args", r#"{"a":1.10}"#),
            ("arguments", r#"{"a":1.10}"#),
            ("args", r#""{\"a\":1.10}""#),
            ("args_json", r#""{\"a\":1.10}""#),
        ] {
            let asked = format!(r#"{{"action":"call","type":"tool","path":"p","{key}":{args}}}"#);
            check(&asked, Ok(r#"call tool p {"a":1.10}"#));
        }
        let filled = r#"{"action":"list","type":"tool","path":null,"args":null}"#;
        check(filled, Ok("list tool"));
        let filled = r#"{"action":"info","type":"tool","path":"p","args":null}"#;
        check(filled, Ok("info tool p"));
    }

    #[test]
    fn every_error_names_the_parameter() {
        for (arguments, error) in [
            ("{}", "\"action\" is missing"),
            (r#"{"type":"tool"}"#, "\"action\" is missing"),
            (r#"{"action":null,"type":"tool"}"#, "\"action\" is missing"),
            (
                r#"{"action":1,"type":"tool"}"#,
                "\"action\" is not a string",
            ),
            (
                r#"{"action":"batch","type":"tool"}"#,
                "\"action\" cannot be \"batch\"; use one of list, info, call",
            ),
            (
                r#"{"action":"List","type":"tool"}"#,
                "\"action\" cannot be \"List\"; use one of list, info, call",
            ),
            (r#"{"action":"list"}"#, "\"type\" is missing"),
            (
                r#"{"action":"list","type":["tool"]}"#,
                "\"type\" is not a string",
            ),
            (
                r#"{"action":"list","type":"template"}"#,
                "\"type\" cannot be \"template\"; use one of tool, resource, prompt",
            ),
            (
                r#"{"action":"list","type":"tool","path":"p"}"#,
                "\"path\" cannot be given with \"action\": \"list\"",
            ),
            (
                r#"{"action":"list","type":"tool","path":""}"#,
                "\"path\" cannot be given with \"action\": \"list\"",
            ),
            (
                r#"{"action":"list","type":"tool","args":{}}"#,
                "\"args\" cannot be given with \"action\": \"list\"",
            ),
            (
                r#"{"action":"info","type":"tool"}"#,
                "\"path\" is missing; \"action\": \"info\" needs it",
            ),
            (
                r#"{"action":"call","type":"tool","args":{}}"#,
                "\"path\" is missing; \"action\": \"call\" needs it",
            ),
            (
                r#"{"action":"call","type":"tool","path":null}"#,
                "\"path\" is missing; \"action\": \"call\" needs it",
            ),
            (
                r#"{"action":"info","type":"tool","path":""}"#,
                "\"path\" is empty",
            ),
            (
                r#"{"action":"info","type":"tool","path":7}"#,
                "\"path\" is not a string",
            ),
            (
                r#"{"action":"info","type":"tool","path":"p","args":{"a":1}}"#,
                "\"args\" cannot be given with \"action\": \"info\"",
            ),
            (
                r#"{"action":"info","type":"tool","path":"p","arguments":{}}"#,
                "\"arguments\" cannot be given with \"action\": \"info\"",
            ),
            (
                r#"{"action":"info","type":"tool","path":"p","args_json":""}"#,
                "\"args_json\" cannot be given with \"action\": \"info\"",
            ),
            (
                r#"{"action":"call","type":"tool","path":"p","args":[1]}"#,
                "\"args\" is not an object",
            ),
            (
                r#"{"action":"call","type":"tool","path":"p","args":"a=1"}"#,
                "\"args\" is not an object",
            ),
            (
                r#"{"action":"call","type":"tool","path":"p","args":{},"args_json":"{}"}"#,
                "\"args\" and \"args_json\" are both given; give one",
            ),
        ] {
            check(arguments, Err(error));
        }
        let deep = format!("{}1{}", r#"{"a":"#.repeat(600), "}".repeat(600));
        let text = serde_json::Value::from(deep);
        let asked = format!(r#"{{"action":"call","type":"tool","path":"p","args":{text}}}"#);
        check(&asked, Err("\"args\" nests deeper than 512 levels"));
        let half = r#"{"action":"call","type":"tool","path":"p","args":"{\"a\":\"\\ud800\"}"}"#;
        let why =
            "\"args\" contains an escape of half a character (a lone surrogate, such as \\ud800)";
        check(half, Err(why));
    }
}
