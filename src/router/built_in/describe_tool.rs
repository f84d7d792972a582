//! `describe_tool`: whole definitions by name, for tools that a search gave only a line of.

use std::{cell::LazyCell, collections::HashSet};

use serde_json::{Value, json};

use super::{BuiltIn, Call, structured, wrong_arguments};
use crate::{
    access::Caller,
    catalog::{Matching, Tool},
    config::Settings,
    error_code::{ErrorCode, Failure},
    gate::{Moment, Rules, Variant},
    long_work::Stop,
    names::{self, ServerName},
    router::{Reply, RequestError, Router, Search},
    wire::{Edit, Raw, Target, splice},
};

pub(super) const TOOL: BuiltIn = BuiltIn {
    name: "describe_tool",
    define,
    run: |call| Box::pin(async move { run(&call).await }),
};

/// Limit: names in one call.
const MOST: usize = 20;

/// Limit: known names that are suggested for an unknown one.
const SUGGESTED: usize = 3;

/// Limit: bytes of an unknown name that are repeated in the answer.
const REPEATED: usize = 256;

fn define(_: &Settings) -> Value {
    json!({
        "name": "describe_tool",
        "title": "Describe tools",
        "description": "Gives the whole definitions of tools that retrieve_tools found, and for each unknown name the closest known ones.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "names": {
                    "type": "array",
                    "items": { "type": "string" },
                    "minItems": 1,
                    "maxItems": MOST,
                    "description": "The tools as server:tool",
                },
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
                        "description": "The definition as the server gave it, with the name that calls want",
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
    let names = read(&call.arguments).map_err(|why| wrong_arguments(TOOL.name, why))?;
    let asked = Asked {
        router: call.router.clone(),
        caller: call.context.caller.clone(),
        moment: call.router.0.gate.now(),
        names,
    };
    if asked.names.iter().all(|name| asked.is_known(name)) {
        return Ok(structured(&asked.answer(&Stop::default())));
    }
    // All known names are looked at for each unknown one, which takes too long for the runtime's workers.
    let answering = call.router.0.long_work.run(move |stop| asked.answer(stop));
    let answer = answering.await.map_err(|_| {
        let hint = "Ask again in a moment.";
        Failure::new(ErrorCode::Overloaded, "too many searches are waiting", hint)
    })?;
    Ok(structured(&answer))
}

/// The names, each once; a single one may stand without its brackets.
fn read(arguments: &Raw) -> Result<Vec<String>, String> {
    let given = arguments
        .get("names")
        .filter(|names| !names.is_null())
        .ok_or("`names` is missing")?;
    let mut names: Vec<String> = match given.string() {
        Some(name) => vec![name],
        None => given
            .read()
            .map_err(|_| "`names` is not a list of strings")?,
    };
    match names.len() {
        0 => Err("`names` is empty".to_owned()),
        n if n > MOST => Err(format!(
            "`names` has {n} names; at most {MOST} are described at once"
        )),
        _ => {
            let mut seen = HashSet::new();
            names.retain(|name| seen.insert(name.clone()));
            Ok(names)
        }
    }
}

/// Who asks for which tools, and of what.
struct Asked {
    router: Router,
    caller: Caller,
    moment: Moment,
    names: Vec<String>,
}

impl Asked {
    fn answer(&self, stop: &Stop) -> Raw {
        let (mut tools, mut unknown) = (Vec::new(), Vec::new());
        let known = LazyCell::new(|| self.known_names());
        for name in self.names.iter().take_while(|_| !stop.is_asked()) {
            match self.find(name) {
                Ok((server, tool)) => tools.push(described(self.moment.rules(), &server, tool)),
                Err(failure) => {
                    let closest = self.closest(name, &known, stop);
                    unknown.push(explanation(name, &failure, &closest));
                }
            }
        }
        let lists = [
            ("tools", Edit::Set(Raw::array(&tools))),
            ("unknown", Edit::Set(Raw::array(&unknown))),
        ];
        splice(&Raw::empty_object(), &lists).expect("an object was given")
    }

    /// Whose tool a name means: `server:tool`, or the one that lists offer.
    fn meant<'a>(&'a self, name: &'a str) -> (&'a str, &'a str) {
        match (
            self.moment.snapshot().offered_tool(name),
            name.split_once(':'),
        ) {
            (Some((server, tool)), _) => (server.as_str(), &*tool.name),
            (None, Some(pair)) => pair,
            (None, None) => (name, ""),
        }
    }

    fn is_known(&self, name: &str) -> bool {
        let (server, tool) = self.meant(name);
        self.moment.snapshot().tool(server, tool).is_some()
    }

    /// The tool, if the caller may have it.
    fn find(&self, name: &str) -> Result<(ServerName, &Tool), Failure> {
        let (server, tool) = self.meant(name);
        self.decide(server, tool)?;
        let servers = &self.moment.snapshot().servers;
        let known = servers
            .get(server)
            .and_then(|known| Some((known.server.clone(), known.tool(tool)?)));
        known.ok_or_else(|| unlisted(server, tool))
    }

    fn decide(&self, server: &str, tool: &str) -> Result<(), Failure> {
        let rules = self.moment.rules();
        rules.decide(&self.caller, server, &Target::tool(tool))
    }

    fn allows(&self, server: &str, tool: &str) -> bool {
        let rules = self.moment.rules();
        rules.allows(&self.caller, server, &Target::tool(tool))
    }

    /// Every known tool as `server:tool`.
    fn known_names(&self) -> Vec<String> {
        let servers = self.moment.snapshot().servers.iter();
        servers
            .flat_map(|(server, known)| known.tools.iter().map(move |tool| (server, tool)))
            .map(|(server, tool)| format!("{server}:{}", tool.name))
            .collect()
    }

    /// Names that are spelt alike, then those that have its words.
    fn closest(&self, name: &str, known: &[String], stop: &Stop) -> Vec<String> {
        let is_visible = |name: &str| {
            name.split_once(':')
                .is_some_and(|(server, tool)| self.allows(server, tool))
        };
        let known = known.iter().map(String::as_str);
        let spelt_alike = names::closest_allowed(name, known, is_visible);
        let mut closest: Vec<String> = spelt_alike.map(str::to_owned).into_iter().collect();
        let search = Search {
            // As words: a filter would look for the very name that is not there.
            query: name.replace([':', '"'], " "),
            limit: Some(SUGGESTED),
            matching: Matching::Any,
            server: None,
            up_to: Variant::Destructive,
        };
        let found = self.router.search_here(&self.caller, &search, stop);
        for tool in found.unwrap_or_default().tools {
            let name = format!("{}:{}", tool.server.server, tool.tool().name);
            if !closest.contains(&name) {
                closest.push(name);
            }
        }
        closest.truncate(SUGGESTED);
        closest
    }
}

/// Of a server whose changes are allowed the gate lets unknown tools through.
fn unlisted(server: &str, tool: &str) -> Failure {
    let error = format!("the server {server:?} lists no tool {tool:?}");
    Failure::new(ErrorCode::UnknownTool, error, "Search with retrieve_tools.")
        .of_server(server)
        .of_tool(tool)
}

fn described(rules: Rules<'_>, server: &ServerName, tool: &Tool) -> Raw {
    let variant = rules.call_with(server.as_str(), tool);
    let edits = [
        (
            "name",
            Edit::Set(Raw::author(&format!("{server}:{}", tool.name))),
        ),
        ("server", Edit::Set(Raw::author(server))),
        (
            "call_with",
            Edit::Set(Raw::author(&format!("call_tool_{}", variant.as_str()))),
        ),
    ];
    splice(&tool.definition, &edits).expect("only objects get into the catalog")
}

fn explanation(name: &str, failure: &Failure, closest: &[String]) -> Raw {
    let end = name.floor_char_boundary(REPEATED);
    Raw::author(&json!({
        "name": name.get(..end),
        "error": failure.error,
        "code": failure.code.as_str(),
        "hint": failure.hint,
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
        check("{}", Err("`names` is missing"));
        check(r#"{"names":[]}"#, Err("`names` is empty"));
        check(r#"{"names":[1]}"#, Err("`names` is not a list of strings"));
        let many = format!(r#"{{"names":[{}"a"]}}"#, r#""a","#.repeat(20));
        check(
            &many,
            Err("`names` has 21 names; at most 20 are described at once"),
        );
    }
}
