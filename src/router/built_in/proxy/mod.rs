//! `proxy` (seed 001): one tool that lists and describes tools, resources and prompts, and calls, reads or gets them. Requests to servers pass
//! the gate, as everywhere.

mod answer;
mod arguments;
mod calls;
mod expansion;
mod paths;
mod queries;

use serde_json::{Value, json};

use self::arguments::{ACTIONS, ProxyRequest, TYPES};
use super::{BuiltIn, Call, arguments::stated};
use crate::{
    config::Settings,
    router::{Reply, RequestError},
    wire::Raw,
};

pub(super) const TOOL: BuiltIn = BuiltIn {
    name: "proxy",
    aliases: &["arguments", "args_json"],
    // The mode `proxy` alone lists it.
    is_listed: |_| false,
    usage: |arguments| match stated(arguments, "action").as_deref() {
        Some("info") => r#"{"action": "info", "type": "tool", "path": "server__tool"}"#,
        Some("call") => r#"{"action": "call", "type": "tool", "path": "server__tool"}"#,
        _ => r#"{"action": "list", "type": "tool"}"#,
    },
    define,
    run: |call| Box::pin(run(call)),
};

/// Bytes of a result from which an answer is made in the task of the request. For a larger one it is made on a thread of its own.
const AT_ONCE: usize = 128 << 10;

fn define(_: &Settings) -> Value {
    json!({
        "name": "proxy",
        "title": "Proxy for tools, resources and prompts",
        "description": "A proxy for the tools, resources and prompts of all MCP servers behind mcpproxy. action \"list\" with a type lists \
            what there is; \"info\" with a path gives one definition, of a tool with its inputSchema; \"call\" with a path \
            and args calls the tool, reads the resource or gets the prompt. Lists and definitions come as JSON in one embedded resource; \
            a call gives the result of the tool, resource or prompt. A tool that is called this way may change or delete things: see its annotations.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ACTIONS, "description": "What to do" },
                "type": { "type": "string", "enum": TYPES, "description": "What the action is for" },
                "path": {
                    "type": "string",
                    "description": "For info and call, not for list: the name of the tool or prompt as it is listed, or server:name; the \
                        URI or name of the resource or resource template",
                },
                "args": {
                    "type": "object",
                    "description": "Only for call: the arguments of the tool or prompt, or the values of the variables of a resource \
                        template",
                },
            },
            "required": ["action", "type"],
        },
        "annotations": { "readOnlyHint": false, "destructiveHint": true, "openWorldHint": true },
    })
}

async fn run(call: Call<'_>) -> Result<Reply, RequestError> {
    let request = ProxyRequest::read(&call.arguments).map_err(|why| call.wrong(why))?;
    match request {
        ProxyRequest::List(kind) => Ok(Reply::Own(queries::list(&call, kind).await)),
        ProxyRequest::Info(kind, path) => queries::info(&call, kind, path).await.map(Reply::Own),
        ProxyRequest::Call(kind, path, args) => calls::call(&call, kind, path, args).await,
    }
}

/// Makes an answer of a result of so many bytes.
async fn put_together(
    call: &Call<'_>,
    size: usize,
    make: impl Fn() -> Raw + Clone + Send + 'static,
) -> Raw {
    if size > AT_ONCE {
        let elsewhere = make.clone();
        let work = call.router.long_work();
        if let Ok(answer) = work.run(move |_| elsewhere()).await {
            return answer;
        }
    }
    // The call has been made, so its answer must not be lost where no thread is free.
    make()
}
