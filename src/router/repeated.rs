//! Arguments of a call that was not made, as they are repeated to its sender.

use serde_json::{Value, json};

use crate::wire::Raw;

/// Limit: bytes of arguments that are repeated.
const REPEATED: usize = 64 << 10;

/// Arguments as objects, or as the text of one.
pub(super) fn repeated(arguments: Option<&Raw>) -> Value {
    let Some(meant) = arguments else {
        return json!({});
    };
    if meant.as_bytes().len() > REPEATED {
        return json!("left out: larger than 64 KiB");
    }
    let text = meant.string().unwrap_or_else(|| meant.as_str().to_owned());
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// What the params of a tool of our own have for the tool that it was to call.
pub(super) fn meant_for_another(params: Option<&Raw>) -> Value {
    let arguments = params.and_then(|params| params.get("arguments"));
    let arguments = arguments.unwrap_or_else(Raw::empty_object);
    let keys = ["args", "arguments", "args_json"];
    let meant = keys.iter().find_map(|key| arguments.get(key));
    repeated(meant.as_ref())
}
