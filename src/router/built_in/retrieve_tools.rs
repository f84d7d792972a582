//! `retrieve_tools`: the search that stands for the tools which are not listed.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{BuiltIn, Call, structured, wrong_arguments};
use crate::{
    catalog::Matching,
    config::Settings,
    gate::Variant,
    router::{
        Refused,
        search::{FoundTool, Search},
    },
    wire::{Outcome, Raw},
};

pub(super) const TOOL: BuiltIn = BuiltIn {
    name: "retrieve_tools",
    define,
    run: |call| Box::pin(async move { run(&call) }),
};

fn define(settings: &Settings) -> Value {
    json!({
        "name": "retrieve_tools",
        "title": "Search tools",
        "description": "Searches the tools of all connected MCP servers. Each result says with `call_with` which tool calls it.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "Words that describe the task" },
                "limit": { "type": "integer", "minimum": 1, "maximum": settings.tools_limit, "default": settings.tools_limit },
            },
            "required": ["query"],
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

#[derive(Deserialize)]
struct Arguments {
    query: String,
    limit: Option<usize>,
}

#[derive(Serialize)]
struct Answer<'a> {
    tools: Vec<Row>,
    query: &'a str,
    total: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    server: String,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_schema: Option<Raw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Raw>,
    score: f32,
    #[serde(rename = "call_with")]
    call_with: String,
}

fn run(call: &Call<'_>) -> Result<Outcome, Refused> {
    let arguments: Arguments = call
        .arguments
        .read()
        .map_err(|error| wrong_arguments("retrieve_tools", error))?;
    let search = Search {
        query: arguments.query,
        limit: arguments.limit,
        matching: Matching::Any,
        server: None,
        up_to: Variant::Destructive,
    };
    let found = call.router.search(&call.context.caller, &search)?;
    let answer = Answer {
        tools: found.tools.iter().map(row).collect(),
        query: &search.query,
        total: found.total,
        notice: found.notice,
    };
    Ok(structured(&Raw::author(&answer)))
}

fn row(found: &FoundTool) -> Row {
    let tool = found.tool();
    Row {
        name: format!("{}:{}", found.server.server, tool.name),
        server: found.server.server.to_string(),
        description: tool.description.to_string(),
        input_schema: tool.definition.get("inputSchema"),
        annotations: tool.definition.get("annotations"),
        score: found.score,
        call_with: format!("call_tool_{}", found.call_with.as_str()),
    }
}
