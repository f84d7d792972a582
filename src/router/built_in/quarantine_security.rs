//! `quarantine_security`: what is held and why, for agents to tell their users. Only people can approve.

use serde_json::{Value, json};

use super::{
    BuiltIn, Call,
    arguments::{required, stated, string},
    structured,
};
use crate::{
    config::Settings,
    failure::{ErrorCode, Failure},
    router::{Reply, RequestError, held_things},
    wire::Raw,
};

pub(super) const TOOL: BuiltIn = BuiltIn {
    name: "quarantine_security",
    aliases: &[],
    is_listed: |_| true,
    usage: |arguments| match stated(arguments, "operation").as_deref() {
        Some("inspect") => r#"{"operation": "inspect", "name": "server"}"#,
        _ => r#"{"operation": "list"}"#,
    },
    define,
    run: |call| Box::pin(async move { run(&call).await }),
};

fn define(_: &Settings) -> Value {
    json!({
        "name": "quarantine_security",
        "title": "See what is held",
        "description": "Lists quarantined servers, and held tools, prompts, resources and instructions, with the scanner's findings. Changes nothing; only the user can approve.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "operation": { "type": "string", "enum": ["list", "inspect"], "description": "list: all servers; inspect: one server, with the places of its findings" },
                "name": { "type": "string", "description": "The server to inspect" },
            },
            "required": ["operation"],
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

async fn run(call: &Call<'_>) -> Result<Reply, RequestError> {
    let wrong = |why: String| call.wrong(why);
    let operation = required(&call.arguments, "operation").map_err(wrong)?;
    let name = string(&call.arguments, "name").map_err(wrong)?;
    let wanted = match (&*operation, name) {
        ("list", None) => None,
        ("list", Some(_)) => return Err(call.wrong("\"list\" takes no \"name\"")),
        ("approve", _) => {
            let error = "quarantine_security cannot approve";
            let hint = "Nothing was approved. Tell the user: only they can approve.";
            return Err(Failure::agents_only(ErrorCode::InvalidArguments, error, hint).into());
        }
        ("inspect", Some(name)) => Some(name),
        ("inspect", None) => return Err(call.wrong("\"name\" is missing")),
        (other, _) => {
            let why = format!("\"operation\" must be \"list\" or \"inspect\", not {other:?}");
            return Err(call.wrong(why));
        }
    };
    let (now, caller) = (call.now(), call.context.caller.clone());
    // A server may list twenty thousand things, all of which are scanned.
    let looking = call.router.long_work().run(move |_| match wanted {
        None => Ok(held_things::all_held(&now, &caller)),
        Some(name) => held_things::inspected(&now, &caller, &name),
    });
    let answer = looking.await.map_err(Failure::from)??;
    Ok(Reply::Own(structured(&Raw::author(&answer))))
}
