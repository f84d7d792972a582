//! `retrieve_tools`: searches the tools of servers, which the mode does not list.

use serde_json::{Value, json};

use super::{
    BuiltIn, Call,
    arguments::{flag, number, required, string},
    structured,
};
use crate::{
    catalog::Matching,
    config::Settings,
    gate::Variant,
    router::{
        Reply, RequestError,
        search::{Detail, Search},
    },
    wire::Raw,
};

pub(super) const TOOL: BuiltIn = BuiltIn {
    name: "retrieve_tools",
    aliases: &[],
    is_listed: |_| true,
    usage: |_| r#"{"query": "what the tool should do"}"#,
    define,
    run: |call| Box::pin(async move { run(&call).await }),
};

fn define(settings: &Settings) -> Value {
    json!({
        "name": "retrieve_tools",
        "title": "Search tools",
        "description": "Finds tools of all MCP servers behind this proxy by what they do. Search here before saying that something \
            cannot be done. Each result has call_with: call the tool named there with the result's \"name\" and arguments as in \
            its inputSchema. Results without inputSchema have a \"signature\"; describe_tool gives their whole \
            definition.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "What the tool should do, in a few words: \"create github issue\". A \"quoted phrase\" finds these words side by side; github: issue searches the server github only, github:get_ its tools whose names begin with get_.",
                },
                "limit": { "type": "integer", "description": "How many results at most", "minimum": 1, "maximum": settings.tools_limit, "default": settings.tools_limit },
                "server": { "type": "string", "description": "Only tools of this server" },
                "match": { "type": "string", "enum": ["any", "all"], "default": "any", "description": "any: tools with more of the words come first; all: only tools with all of them" },
                "detail": { "type": "string", "enum": ["full", "compact"], "default": "full", "description": "full: the first results with their inputSchema; compact: one line for each" },
                "read_only_only": { "type": "boolean", "default": false, "description": "Only tools whose call_with is call_tool_read" },
                "exclude_destructive": { "type": "boolean", "default": false, "description": "No tools that need call_tool_destructive" },
            },
            "required": ["query"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "tools": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": { "type": "string", "description": "server:tool" },
                            "server": { "type": "string" },
                            "description": { "type": "string" },
                            "inputSchema": { "type": "object" },
                            "signature": { "type": "string", "description": "Instead of inputSchema" },
                            "annotations": { "type": "object" },
                            "score": { "type": "number", "description": "At most 1, in descending order" },
                            "call_with": { "type": "string", "description": "The tool that calls it" },
                        },
                        "required": ["name", "server", "description", "score", "call_with"],
                    },
                },
                "query": { "type": "string" },
                "total": { "type": "integer", "description": "How many tools match in all" },
                "notice": { "type": "string", "description": "What limits this answer, such as servers that were not searched" },
                "omitted": { "type": "object", "description": "How many matching tools were left out, by filter and cause" },
            },
            "required": ["tools", "query", "total"],
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

async fn run(call: &Call<'_>) -> Result<Reply, RequestError> {
    let (search, detail) = read(&call.arguments).map_err(|why| call.wrong(why))?;
    let caller = &call.context.caller;
    let answer = call.router.0.search.answer(caller, &search, detail).await?;
    Ok(Reply::Own(structured(&answer)))
}

fn read(arguments: &Raw) -> Result<(Search, Detail), String> {
    let matching = string(arguments, "match")?.map(|text| {
        Matching::parse(&text)
            .ok_or_else(|| format!("\"match\" must be \"any\" or \"all\", not {text:?}"))
    });
    let detail = string(arguments, "detail")?.map(|text| {
        Detail::parse(&text)
            .ok_or_else(|| format!("\"detail\" must be \"full\" or \"compact\", not {text:?}"))
    });
    let (reading, harmless) = (
        flag(arguments, "read_only_only")?,
        flag(arguments, "exclude_destructive")?,
    );
    let search = Search {
        query: required(arguments, "query")?,
        limit: number(arguments, "limit", 1)?,
        matching: matching.transpose()?.unwrap_or_default(),
        server: string(arguments, "server")?
            .map(|server| server.trim().to_owned())
            .filter(|server| !server.is_empty()),
        explained: false,
        is_at_terminal: false,
        up_to: match (reading, harmless) {
            (true, _) => Variant::Read,
            (false, true) => Variant::Write,
            (false, false) => Variant::Destructive,
        },
    };
    Ok((search, detail.transpose()?.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &str, expected: Result<&str, &str>) {
        let found = read(&Raw::parse_str(arguments).expect("JSON"));
        let found = found.map(|(s, detail)| {
            format!(
                "{:?} {:?} {:?} {:?} {:?} {detail:?}",
                s.query, s.limit, s.matching, s.server, s.up_to
            )
        });
        assert_eq!(found.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn arguments_are_read_as_models_write_them() {
        check(
            r#"{"query":"x"}"#,
            Ok(r#""x" None Any None Destructive Full"#),
        );
        check(
            r#"{"query":"","limit":"7","match":"all","server":"s","detail":"compact","exclude_destructive":true}"#,
            Ok(r#""" Some(7) All Some("s") Write Compact"#),
        );
        check(
            r#"{"query":"x","limit":5.0,"match":null,"server":"","read_only_only":"true","exclude_destructive":true}"#,
            Ok(r#""x" Some(5) Any None Read Full"#),
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        check("{}", Err("\"query\" is missing"));
        check(r#"{"query":7}"#, Err("\"query\" is not a string"));
        check(
            r#"{"query":"x","limit":-1}"#,
            Err("\"limit\" must be at least 1, not -1"),
        );
        check(
            r#"{"query":"x","limit":0}"#,
            Err("\"limit\" must be at least 1, not 0"),
        );
        check(
            r#"{"query":"x","limit":"many"}"#,
            Err("\"limit\" must be a whole number of at least 1"),
        );
        check(
            r#"{"query":"x","match":"some"}"#,
            Err("\"match\" must be \"any\" or \"all\", not \"some\""),
        );
        check(
            r#"{"query":"x","detail":1}"#,
            Err("\"detail\" is not a string"),
        );
        check(
            r#"{"query":"x","read_only_only":1}"#,
            Err("\"read_only_only\" is not true or false"),
        );
    }
}
