//! What the demo server's tools do.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::{
    Server,
    definitions::{self, SLOW},
    message::{DemoError, DemoRequest},
    schema,
};

/// What a tool says.
enum Said {
    Text(String),
    /// For tools with an output schema.
    Structured(Value),
    /// The call was cancelled: no answer is sent.
    Nothing,
}

/// Whether the request must not be served on the thread that reads.
pub(super) fn takes_long(request: &DemoRequest) -> bool {
    request.method == "tools/call" && request.params["name"] == SLOW
}

/// The result of `tools/call`; nothing when the call was cancelled. Wrong arguments are a result with `isError`, so that the
/// model sees them and can do better.
pub(super) fn call(server: &Server, request: &DemoRequest) -> Result<Option<Value>, DemoError> {
    let ran = run(server, request);
    // A call that was cancelled has been removed already and gets no answer.
    if takes_long(request) && !server.in_flight.end(&request.id) {
        return Ok(None);
    }
    Ok(match ran? {
        Ok(Said::Text(text)) => Some(json!({ "content": [{ "type": "text", "text": text }] })),
        Ok(Said::Structured(value)) => Some(json!({
            "content": [{ "type": "text", "text": value.to_string() }],
            "structuredContent": value,
        })),
        Ok(Said::Nothing) => None,
        Err(complaint) => {
            Some(json!({ "content": [{ "type": "text", "text": complaint }], "isError": true }))
        }
    })
}

fn run(server: &Server, request: &DemoRequest) -> Result<Result<Said, String>, DemoError> {
    let Some(name) = request.params["name"].as_str() else {
        return Err(DemoError::params("tools/call needs name, a string"));
    };
    let definitions = definitions::all();
    let known = definitions.as_array().into_iter().flatten();
    let Some(definition) = known
        .into_iter()
        .find(|definition| definition["name"] == name)
    else {
        return Err(DemoError::params(format!("unknown tool {name:?}")));
    };
    let empty = Map::new();
    let arguments = match &request.params["arguments"] {
        Value::Null => &empty,
        Value::Object(arguments) => arguments,
        _ => return Err(DemoError::params("arguments must be an object")),
    };
    if let Err(complaint) = schema::check(&definition["inputSchema"], arguments) {
        return Ok(Err(complaint));
    }
    Ok(perform(server, request, name, arguments))
}

/// Runs a known tool on checked arguments.
fn perform(
    server: &Server,
    request: &DemoRequest,
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<Said, String> {
    let text = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    match name {
        "echo" => Ok(Said::Text(text("text").to_owned())),
        "add" => add(&arguments["a"], &arguments["b"]),
        "time_now" => Ok(Said::Text(utc(SystemTime::now()))),
        "notes_write" => server
            .notes
            .write(text("title"), text("text"))
            .map(Said::Text),
        "notes_list" => Ok(Said::Text(server.notes.list(text("containing")))),
        "notes_delete" => server.notes.delete(text("title")).map(Said::Text),
        _ => {
            let seconds = arguments
                .get("seconds")
                .and_then(Value::as_u64)
                .unwrap_or(5);
            Ok(count(server, request, seconds))
        }
    }
}

/// Whole numbers stay whole as far as they fit.
fn add(a: &Value, b: &Value) -> Result<Said, String> {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64())
        && let Some(sum) = a.checked_add(b)
    {
        return Ok(Said::Structured(json!({ "sum": sum })));
    }
    let sum = a.as_f64().unwrap_or(f64::NAN) + b.as_f64().unwrap_or(f64::NAN);
    if sum.is_finite() {
        Ok(Said::Structured(json!({ "sum": sum })))
    } else {
        Err("the sum is too large for a number".to_owned())
    }
}

fn count(server: &Server, request: &DemoRequest, seconds: u64) -> Said {
    let token = &request.params["_meta"]["progressToken"];
    for second in 1..=seconds {
        if !server.in_flight.wait(&request.id, Duration::from_secs(1)) {
            return Said::Nothing;
        }
        if token.is_string() || token.is_number() {
            let progress = json!({
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": {
                    "progressToken": token,
                    "progress": second,
                    "total": seconds,
                    "message": format!("counted to {second}"),
                },
            });
            if super::send(&progress).is_err() {
                return Said::Nothing;
            }
        }
    }
    Said::Text(format!("Counted to {seconds}."))
}

/// A moment as `2026-07-28T12:34:56Z`.
fn utc(moment: SystemTime) -> String {
    let seconds = moment
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (days, in_day) = (seconds / 86_400, seconds % 86_400);
    let (hour, minute, second) = (in_day / 3_600, in_day / 60 % 60, in_day % 60);
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day from days since 1970-01-01, counted in eras of 400 years that begin in March, so that a leap day is
/// the last of its year.
fn date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, in_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (in_era - in_era / 1_460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn moments_are_written_in_utc() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_785_242_096, "2026-07-28T12:34:56Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(
                super::utc(UNIX_EPOCH + Duration::from_secs(seconds)),
                expected
            );
        }
    }
}
