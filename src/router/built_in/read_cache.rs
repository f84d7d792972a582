//! `read_cache`: the next page of a cut result, for the caller of the result, as long as it may use the tools that gave it.

use serde_json::{Value, json};

use super::{
    BuiltIn, Call,
    arguments::{number, required},
};
use crate::{
    config::Settings,
    failure::{ErrorCode, Failure, Result},
    router::{
        Reply, RequestError,
        large_results::{KeptText, NOTICE_MAX, Notice},
    },
    wire::{Edit, Raw, splice},
};

/// Characters of a page if the limit was taken out of the configuration while texts are kept.
const PAGE: usize = 20_000;

/// Characters of the smallest page, with its notice. A smaller request gets this.
const SMALLEST: usize = 1_000;

/// Limit: characters of a key that are read. No valid key has more.
const LONGEST_KEY: usize = 64;

pub(super) const TOOL: BuiltIn = BuiltIn {
    name: "read_cache",
    aliases: &[],
    // Where results are cut.
    is_listed: |settings| settings.tool_response_limit > 0,
    usage: |_| r#"{"key": "the key at the end of the cut result"}"#,
    define,
    run: |call| Box::pin(async move { run(&call).await }),
};

fn define(settings: &Settings) -> Value {
    let most = largest(settings);
    json!({
        "name": "read_cache",
        "title": "Read on in a long result",
        "description": "Returns the next part of a result that ends with \"[cut here by mcpproxy: …]\" or \"[cut by mcpproxy: …]\". Copy \"key\" and \"offset\" from there; each part but the last gives the next offset. Do this only if you need the rest: a narrower call is often better.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "key": { "type": "string", "description": "The key of the cut result" },
                "offset": { "type": "integer", "minimum": 0, "default": 0, "description": "Position of the first character to return, from 0" },
                "limit": { "type": "integer", "minimum": SMALLEST, "maximum": most, "default": most, "description": "The most characters of a page; it ends after a record or line" },
            },
            "required": ["key"],
        },
        "annotations": { "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false },
    })
}

fn largest(settings: &Settings) -> usize {
    match settings.tool_response_limit {
        0 => PAGE,
        limit => limit,
    }
}

async fn run(call: &Call<'_>) -> Result<Reply, RequestError> {
    let wrong = |why: String| call.wrong(why);
    let key = required(&call.arguments, "key").map_err(wrong)?;
    let offset = number(&call.arguments, "offset", 0).map_err(wrong)?;
    let limit = number(&call.arguments, "limit", 0).map_err(wrong)?;
    let settings = call.router.0.gate.settings();
    let most = largest(&settings);
    let limit = limit.unwrap_or(most).clamp(SMALLEST, most.max(SMALLEST));
    let key = key.trim().to_owned();
    let kept = find(call, &key)?;
    let from = offset.unwrap_or(0);
    let (text, reading) = (kept.text.clone(), kept.reading);
    let read = move || {
        let page = text.page(from, limit - NOTICE_MAX)?;
        let notice = Notice {
            key: &key,
            page: &page,
            reading,
        };
        Some(text.items(&page, &notice))
    };
    let items = call.router.0.large_results.run(limit, read).await;
    let items = items.map_err(|_| overloaded())?;
    let items = items.ok_or_else(|| past_the_end(from, kept.text.chars()))?;
    let content = [("content", Edit::Set(Raw::array(&items)))];
    let result = splice(&Raw::empty_object(), &content).expect("an object was given");
    Ok(Reply::Own(result))
}

/// The text under a key, if the caller may still use all things that it came from.
fn find(call: &Call<'_>, key: &str) -> Result<KeptText> {
    let caller = &call.context.caller;
    let known = Some(key).filter(|key| key.len() <= LONGEST_KEY);
    let kept = known.and_then(|key| call.router.0.large_results.find(key, caller));
    let kept = kept.ok_or_else(unknown_key)?;
    let now = call.now();
    for source in &*kept.sources {
        now.rules().decide(caller, &source.server, &source.target)?;
    }
    Ok(kept)
}

fn unknown_key() -> Failure {
    let hint = "Copy the key exactly from the end of the cut result, or call the tool again if it only reads.";
    let error = "nothing was read: this key is unknown or expired";
    Failure::new(ErrorCode::UnknownKey, error, hint)
}

fn past_the_end(offset: usize, chars: usize) -> Failure {
    let error = format!("nothing was read: the result ends before \"offset\" {offset}");
    let hint = format!("The result has {chars} characters; there is no more.");
    Failure::new(ErrorCode::InvalidArguments, error, hint)
}

fn overloaded() -> Failure {
    let error = "nothing was read: too many results are being read";
    Failure::new(ErrorCode::Overloaded, error, "Try again in a moment.")
}
