//! `describe_tool`: the whole definitions of tools of which a search gave only the signature.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{BuiltIn, Call, structured};
use crate::{
    access::Caller,
    catalog::Tool,
    config::Settings,
    failure::{ErrorCode, Failure, NextStep, Result, for_model},
    gate::Moment,
    router::{Reply, RequestError, definitions::with_offered_views},
    text::{cut::beginning, names::ServerName},
    wire::{Edit, Raw, Target, splice},
};

pub(super) const TOOL: BuiltIn = BuiltIn {
    name: "describe_tool",
    aliases: &[],
    is_listed: |_| true,
    usage: |_| r#"{"names": ["server:tool"]}"#,
    define,
    run: |call| Box::pin(async move { run(&call).await }),
};

/// Limit: names in one call.
const MOST: usize = 20;

/// Bytes of an unknown name that are repeated in the answer.
const REPEATED: usize = 256;

fn define(_: &Settings) -> Value {
    json!({
        "name": "describe_tool",
        "title": "Describe tools",
        "description": "Gives the whole definitions of tools by name, and for each unknown name the closest known names.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "names": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": MOST, "description": "The tools as server:tool" },
            },
            "required": ["names"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "tools": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "description": "The definition as the server gave it, under the name to call it by",
                        "properties": {
                            "name": { "type": "string", "description": "server:tool" },
                            "server": { "type": "string" },
                            "inputSchema": { "type": "object" },
                            "call_with": { "type": "string", "description": "The tool that calls it" },
                        },
                        "required": ["name", "server", "inputSchema", "call_with"],
                    },
                },
                "unknown": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": { "type": "string" },
                            "error": { "type": "string" },
                            "code": { "type": "string" },
                            "hint": { "type": "string" },
                            "closest": { "type": "array", "items": { "type": "string" } },
                        },
                        "required": ["name", "error", "code", "hint", "closest"],
                    },
                },
            },
            "required": ["tools", "unknown"],
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

async fn run(call: &Call<'_>) -> Result<Reply, RequestError> {
    let names = read(&call.arguments).map_err(|why| call.wrong(why))?;
    let now = call.now();
    let (mut tools, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        match find(&now, &call.context.caller, &name) {
            Ok((server, tool)) => tools.push(described(&now, &server, tool)),
            Err(failure) => unknown.push((name, why_absent(call, &now, failure))),
        }
    }
    let names = unknown.iter().map(|(name, _)| name.clone()).collect();
    let search = &call.router.0.search;
    let closest = search.closest(&call.context.caller, names).await?;
    let unknown: Vec<Raw> = unknown
        .iter()
        .zip(&closest)
        .map(|((name, failure), closest)| match failure.code {
            ErrorCode::UnknownTool | ErrorCode::UnknownServer => {
                explanation(name, failure, closest)
            }
            // Other tools would be a way around one that is held.
            _ => explanation(name, failure, &[]),
        })
        .collect();
    let lists = [
        ("tools", Edit::Set(Raw::array(&tools))),
        ("unknown", Edit::Set(Raw::array(&unknown))),
    ];
    let answer = splice(&Raw::empty_object(), &lists).expect("an object was given");
    Ok(Reply::Own(structured(&answer)))
}

/// The names, each once. A single one need not be in a list.
fn read(arguments: &Raw) -> Result<Vec<String>, String> {
    let given = arguments.get("names").filter(|names| !names.is_null());
    let given = given.ok_or("\"names\" is missing")?;
    let mut names: Vec<String> = match given.string() {
        Some(name) => vec![name],
        None => given
            .read()
            .map_err(|_| "\"names\" is not a list of strings")?,
    };
    match names.len() {
        0 => Err("\"names\" is empty".to_owned()),
        n if n > MOST => Err(format!(
            "\"names\" has {n} names; at most {MOST} are allowed"
        )),
        _ => {
            for name in &mut names {
                *name = name.trim().to_owned();
            }
            let mut seen = HashSet::new();
            names.retain(|name| seen.insert(name.clone()));
            Ok(names)
        }
    }
}

/// The tool, if the caller may use it. The name is `server:tool`, or an offered name.
fn find<'a>(now: &'a Moment, caller: &Caller, name: &str) -> Result<(ServerName, &'a Tool)> {
    let snapshot = now.snapshot();
    let (server, tool) = match (snapshot.offered_tool(name), name.split_once(':')) {
        (Some((server, tool)), _) => (server.as_str(), &*tool.name),
        (None, Some(pair)) => pair,
        (None, None) => {
            return Err(super::of_mcpproxy(name).unwrap_or_else(|| without_server(name)));
        }
    };
    now.rules().decide(caller, server, &Target::tool(tool))?;
    let known = snapshot.servers.get(server);
    let known = known.and_then(|known| Some((known.server.clone(), known.tool(tool)?)));
    known.ok_or_else(|| super::unlisted(server, tool))
}

/// The failure of a name: if the tool is unknown because its server could not be connected, the reason for that.
fn why_absent(call: &Call<'_>, now: &Moment, failure: Failure) -> Failure {
    let server = failure.server.as_deref();
    let server = server.filter(|_| failure.code == ErrorCode::UnknownTool);
    let unknown = server.filter(|server| !now.snapshot().servers.contains_key(*server));
    let absence = unknown.and_then(|server| call.router.absence(server));
    absence.unwrap_or_else(|| super::with_whole_name(failure))
}

/// The failure of a name without a server.
fn without_server(name: &str) -> Failure {
    let error = format!("{name:?} is not of the form server:tool");
    let hint = "Find the tool with retrieve_tools and use its \"name\".";
    Failure::for_agents(ErrorCode::UnknownTool, error, hint, NextStep::ShowTools)
}

fn described(now: &Moment, server: &ServerName, tool: &Tool) -> Raw {
    let variant = now.rules().call_with(server.as_str(), tool);
    let name = format!("{server}:{}", tool.name);
    let call_with = format!("call_tool_{}", variant.as_str());
    let edits = [
        ("name", Edit::Set(Raw::author(&name))),
        ("server", Edit::Set(Raw::author(server))),
        ("call_with", Edit::Set(Raw::author(&call_with))),
    ];
    let definition = with_offered_views(now.snapshot(), server, tool);
    splice(&definition, &edits).expect("only objects get into the catalog")
}

fn explanation(name: &str, failure: &Failure, closest: &[String]) -> Raw {
    Raw::author(&json!({
        "name": beginning(name, REPEATED),
        "error": for_model(&failure.error),
        "code": failure.code.as_str(),
        "hint": failure.hint.advice(),
        "closest": closest,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_models_write_them() {
        let check = |arguments: &str, expected: Result<usize, &str>| {
            let found = read(&Raw::parse_str(arguments).expect("JSON"));
            assert_eq!(
                found.as_ref().map(Vec::len).map_err(String::as_str),
                expected,
                "{arguments}"
            );
        };
        check(r#"{"names":["a:b","c:d","a:b"]}"#, Ok(2));
        check(r#"{"names":"a:b"}"#, Ok(1));
        check("{}", Err("\"names\" is missing"));
        check(r#"{"names":[]}"#, Err("\"names\" is empty"));
        check(
            r#"{"names":[1]}"#,
            Err("\"names\" is not a list of strings"),
        );
        let many = format!(r#"{{"names":[{}"a"]}}"#, r#""a","#.repeat(20));
        check(&many, Err("\"names\" has 21 names; at most 20 are allowed"));
    }

    #[test]
    fn an_explanation_has_no_backticks() {
        let failure = Failure::new(ErrorCode::ServerMisconfigured, "`url` is missing", "Ask.");
        let shown = explanation("a:b", &failure, &[]);
        assert!(!shown.as_str().contains('`'), "{}", shown.as_str());
    }
}
