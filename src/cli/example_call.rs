//! Example calls on the command line, with all arguments that a tool's schema requires.

use std::iter;

use serde_json::{Map, Value};

use super::{output::shell_word, tool_name};
use crate::{
    daemon_client::DaemonClient,
    management::{ToolList, ToolRow},
    text::names,
};

/// How many tools are asked for their schema to find an example.
const MOST: usize = 100;

/// The input schema of a tool; null if it is not known.
pub(super) async fn schema_of(daemon: &mut DaemonClient, name: &str) -> Value {
    let shown = tool_name::shown::<Value>(daemon, name).await;
    let mut shown = shown.unwrap_or_default();
    shown["definition"]["inputSchema"].take()
}

/// The required arguments that are missing.
fn missing<'a>(schema: &'a Value, given: &Map<String, Value>) -> Vec<&'a str> {
    let required = schema["required"].as_array().into_iter().flatten();
    let required = required.filter_map(Value::as_str);
    required.filter(|key| !given.contains_key(*key)).collect()
}

/// The arguments with the first unknown one renamed to the only property with a similar name that is not given.
fn corrected(schema: &Value, given: &Map<String, Value>) -> Option<Map<String, Value>> {
    let known = schema["properties"].as_object()?;
    let unknown = given.keys().find(|key| !known.contains_key(*key))?;
    let free = known.keys().filter(|key| !given.contains_key(*key));
    let is_close = |key: &&String| names::closest(unknown, iter::once(key.as_str())).is_some();
    let mut close = free.filter(is_close);
    let meant = close.next().filter(|_| close.next().is_none())?;
    let named = |key| if key == unknown { meant } else { key };
    let given = given.iter();
    Some(
        given
            .map(|(key, value)| (named(key).clone(), value.clone()))
            .collect(),
    )
}

/// The step for a refused call: it names the missing arguments, and the call with them and without misspelt ones. If all is there, it shows
/// the arguments; nothing for a tool that has none.
pub(super) fn completed(name: &str, schema: &Value, given: &Map<String, Value>) -> Option<String> {
    let meant = corrected(schema, given);
    let whole = meant.as_ref().unwrap_or(given);
    let missing = missing(schema, whole);
    let call = typed(name, schema, whole, &missing);
    if !missing.is_empty() {
        return Some(format!("it needs {}: `{call}`", missing.join(", ")));
    }
    if meant.is_some() {
        return Some(format!("did you mean `{call}`?"));
    }
    let has_none = schema["properties"].as_object().is_none_or(Map::is_empty);
    let name = shell_word(name);
    (schema.is_null() || !has_none)
        .then(|| format!("`mcpproxy tools show {name}` shows its arguments"))
}

/// The command for a call. Missing arguments get an example value.
fn typed(name: &str, schema: &Value, given: &Map<String, Value>, missing: &[&str]) -> String {
    let given = given.iter().map(|(key, value)| (&**key, value.clone()));
    let lacking = missing
        .iter()
        .map(|key| (*key, value_for(&schema["properties"][key])));
    let mut call = format!("mcpproxy call {}", shell_word(name));
    for (key, value) in given.chain(lacking) {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        call.extend([" ", &shell_word(&format!("{key}={text}"))]);
    }
    call
}

/// An example value of a property: a declared one, or one of its type.
fn value_for(of: &Value) -> Value {
    let declared = [
        &of["const"],
        &of["enum"][0],
        &of["default"],
        &of["examples"][0],
    ];
    let declared = declared.into_iter().find(|value| !value.is_null());
    let kind = of["type"].as_str().or_else(|| of["type"][0].as_str());
    declared.cloned().unwrap_or_else(|| match kind {
        Some("integer" | "number") => "NUMBER".into(),
        Some("boolean") => true.into(),
        Some("array") => Value::Array(Vec::new()),
        Some("object") => Value::Object(Map::new()),
        _ => "TEXT".into(),
    })
}

/// A harmless call as an example: of a callable tool of a server that works, which only reads, needs no arguments, and does not seem to
/// return secrets.
pub(super) async fn harmless(
    daemon: &mut DaemonClient,
    works: impl Fn(&str) -> bool,
) -> Option<String> {
    let known: ToolList = daemon.fetch("/api/v1/tools").await.ok()?;
    let tools = known.tools.iter();
    let tools = tools.filter(|tool| works(&tool.server) && is_harmless(tool));
    for tool in tools.take(MOST) {
        let schema = schema_of(daemon, &tool.name).await;
        if !schema.is_null() && missing(&schema, &Map::new()).is_empty() {
            return Some(typed(&tool.name, &schema, &Map::new(), &[]));
        }
    }
    None
}

fn is_harmless(tool: &ToolRow) -> bool {
    let about = format!("{} {}", tool.name, tool.description).to_ascii_lowercase();
    let telling = ["env", "secret", "token", "password", "credential"];
    let tells = telling.iter().any(|part| about.contains(part));
    tool.callable && tool.call_with.as_deref() == Some("read") && !tells
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn no_example_shows_what_may_be_secret() {
        let check = |name: &str, description: &str, expected: bool| {
            let tool = json!({ "name": name, "description": description, "callable": true, "call_with": "read" });
            let tool = serde_json::from_value(tool).expect("a row");
            assert_eq!(super::is_harmless(&tool), expected, "{name}");
        };
        check("time:now", "The time.", true);
        check("everything:get-env", "Shows variables.", false);
        check("x:show", "Prints the daemon's environment", false);
    }

    #[test]
    fn a_call_is_completed_with_what_its_schema_requires() {
        let schema = json!({
            "properties": { "message": { "type": "string" }, "times": { "type": "integer" }, "unit": { "enum": ["m s"] } },
            "required": ["message", "times", "unit"],
        });
        let given = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
        let completed = |value| super::completed("a:echo", &schema, &given(value));
        let whole = "it needs message, times, unit: `mcpproxy call a:echo message=TEXT times=NUMBER 'unit=m s'`";
        assert_eq!(completed(json!({})).as_deref(), Some(whole));
        let rest = "it needs message, unit: `mcpproxy call a:echo times=2 'x=[1]' message=TEXT 'unit=m s'`";
        assert_eq!(
            completed(json!({ "times": 2, "x": [1] })).as_deref(),
            Some(rest)
        );
        let whole = json!({ "message": "", "times": 0, "unit": 1 });
        let shown = "`mcpproxy tools show a:echo` shows its arguments";
        assert_eq!(completed(whole).as_deref(), Some(shown));
        let none = super::completed("a:b", &json!({ "type": "object" }), &given(json!({})));
        assert_eq!(none, None, "its arguments cannot be why");
        let misspelt = json!({ "mesage": "x", "times": 0, "unit": 1 });
        let meant = "did you mean `mcpproxy call a:echo message=x times=0 unit=1`?";
        assert_eq!(completed(misspelt).as_deref(), Some(meant));
        let schema = json!({ "properties": { "text1": {}, "text2": {}, "n": {} } });
        let two = super::completed("a:b", &schema, &given(json!({ "text": "x" })));
        let shown = "`mcpproxy tools show a:b` shows its arguments";
        assert_eq!(two.as_deref(), Some(shown), "it may be either");
    }
}
