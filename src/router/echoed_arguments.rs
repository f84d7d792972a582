//! Arguments of a call that was not made, as its sender gets them back.

use serde_json::{Value, json};

use crate::wire::Raw;

/// Bytes of arguments that are given back.
const MOST_ECHOED: usize = 64 << 10;

/// Arguments as objects, or as the text of one.
pub(super) fn echoed(arguments: Option<&Raw>) -> Value {
    let Some(meant) = arguments else {
        return json!({});
    };
    if meant.as_bytes().len() > MOST_ECHOED {
        return json!("left out: larger than 64 KiB");
    }
    let text = meant.string().unwrap_or_else(|| meant.as_str().to_owned());
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// The arguments in the params of a built-in tool for the tool that it was to call.
pub(super) fn meant_for_another(params: Option<&Raw>) -> Value {
    let arguments = params.and_then(|params| params.get("arguments"));
    let arguments = arguments.unwrap_or_else(Raw::empty_object);
    let keys = ["args", "arguments", "args_json"];
    let meant = keys.iter().find_map(|key| arguments.get(key));
    echoed(meant.as_ref())
}
