//! Translates the end of a script from the engine's values: an exception into a [`ScriptFailure`], a result into JSON.

use rquickjs::{CatchResultExt, CaughtError, Coerced, Ctx, Exception, Value};
use serde_json::value::RawValue;

use super::{ScriptSource, Watch, stack_trace};
use crate::{
    code_execution::{ScriptCode, ScriptFailure, limits},
    failure::script_mistake,
    wire::Raw,
};

/// The failure of a script that threw this, or was stopped.
pub(super) fn failure_of(
    caught: CaughtError<'_>,
    watch: &Watch,
    source: &ScriptSource,
) -> ScriptFailure {
    let is_stop = watch.stopped().is_some();
    let thrown = match caught {
        CaughtError::Exception(exception) => of_exception(&exception, source, is_stop),
        CaughtError::Value(value) => of_value(&value),
        CaughtError::Error(error) => {
            ScriptFailure::new(ScriptCode::EngineFailed, error.to_string())
        }
    };
    // Looked at again: reading the exception may run code of the script, and that may be stopped.
    watch.failure_after(&thrown.place).unwrap_or(thrown)
}

/// The stack of an error, as the engine writes it.
pub(super) fn trace_of(exception: &Exception<'_>) -> String {
    text_of(exception, "stack")
}

fn text_of(exception: &Exception<'_>, key: &str) -> String {
    let found = exception
        .as_object()
        .get::<_, Option<Coerced<String>>>(key)
        .catch(exception.as_object().ctx());
    found.ok().flatten().map(|text| text.0).unwrap_or_default()
}

fn of_exception(exception: &Exception<'_>, source: &ScriptSource, is_stop: bool) -> ScriptFailure {
    let text = |key| text_of(exception, key);
    let (name, message, trace) = (text("name"), text("message"), trace_of(exception));
    let code = match (&*name, &*message) {
        ("InternalError", why) if why.starts_with("out of memory") || why == "string too long" => {
            ScriptCode::OutOfMemory
        }
        ("RangeError", "Maximum call stack size exceeded") => ScriptCode::StackOverflow,
        // A SyntaxError that the running script threw has frames before the place.
        ("SyntaxError", _) if is_of_parser(&trace) => ScriptCode::SyntaxError,
        _ => ScriptCode::RuntimeError,
    };
    let place = if is_stop {
        source.place_of_stop(&trace)
    } else {
        source.place(&trace)
    };
    let end = place.position.and_then(|found| source.end_before(found));
    if let (ScriptCode::SyntaxError, Some(end)) = (code, end) {
        return ScriptFailure::new(code, "the script is incomplete").at(end);
    }
    let message = match (name.is_empty(), message.is_empty()) {
        _ if code == ScriptCode::SyntaxError => script_mistake(&message),
        (_, true) => name,
        (true, false) => message,
        (false, false) => format!("{name}: {message}"),
    };
    ScriptFailure::new(code, message).at(place)
}

/// The parser's trace names the place alone; that of a function has its name or `(native)`.
fn is_of_parser(trace: &str) -> bool {
    let first = trace.lines().next().unwrap_or_default().trim();
    first.starts_with(&format!("at {}:", stack_trace::SCRIPT))
}

/// The failure of a script that threw something other than an `Error`, for which the engine keeps no place.
fn of_value(value: &Value<'_>) -> ScriptFailure {
    if value.is_null() {
        // The engine throws null if it has no memory for an error.
        let why = "the script ran out of memory, or threw null";
        return ScriptFailure::new(ScriptCode::OutOfMemory, why);
    }
    let written = value
        .as_string()
        .and_then(|text| text.to_string().ok())
        .or_else(|| {
            let written = value.ctx().json_stringify(value.clone());
            let written = written.catch(value.ctx()).ok().flatten()?;
            written.to_string().ok()
        });
    let message = match written {
        Some(text) => format!("thrown: {text}"),
        None => format!("thrown: a value of type {}", value.type_name()),
    };
    ScriptFailure::new(ScriptCode::RuntimeError, message)
}

/// The value of a script as JSON, within the limits of its size and depth. Its failures have no place: the engine does not know one.
pub(super) fn json<'js>(
    ctx: &Ctx<'js>,
    value: Value<'js>,
    watch: &Watch,
    source: &ScriptSource,
) -> Result<Box<RawValue>, ScriptFailure> {
    let unwritten = |why: &str| ScriptFailure::new(ScriptCode::SerializationError, why);
    if value.is_undefined() {
        return Ok(RawValue::NULL.to_owned());
    }
    let written = ctx.json_stringify(value).catch(ctx).map_err(|caught| {
        let failure = failure_of(caught, watch, source);
        let is_thrown = failure.code == ScriptCode::RuntimeError;
        if is_thrown {
            let why = &failure.message;
            return unwritten(&format!("JSON cannot represent the value: {why}"));
        }
        failure
    })?;
    let written = written.ok_or_else(|| unwritten("the value is a function or a symbol"))?;
    let text = written
        .to_string()
        .map_err(|_| unwritten("the value contains a text that is not Unicode"))?;
    if text.len() > limits::VALUE {
        let (size, most) = (text.len(), limits::VALUE);
        let why = format!("the value has {size} bytes as JSON, but may have {most}");
        return Err(ScriptFailure::new(ScriptCode::OutputLimitExceeded, why));
    }
    let value = Raw::parse_str(&text).map_err(|error| unwritten(&format!("no JSON: {error}")))?;
    if value.is_deeper_than(limits::DEPTH) {
        return Err(unwritten("the value nests deeper than 128 levels"));
    }
    if value.has_lone_surrogate() {
        return Err(unwritten(
            "the value contains a string with half a character (a lone surrogate); toWellFormed() replaces it",
        ));
    }
    RawValue::from_string(text).map_err(|error| unwritten(&format!("no JSON: {error}")))
}
