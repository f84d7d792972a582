//! A definition in lines for people, and what changed from one to another. The only user of `similar`. Pure.

use serde_json::Value;
use similar::TextDiff;

use crate::fingerprint::counts;

/// Limit: lines of a text that is compared. A diff of more takes longer than anybody reads it.
const LINES: usize = 5_000;

/// What of a tool's definition counts, laid out so that the order of keys does not show.
pub(super) fn lines_of(definition: &str) -> String {
    let counted = match serde_json::from_str(definition) {
        Ok(Value::Object(members)) => {
            let counted = members.into_iter();
            let counted = counted.filter(|(key, _)| counts(key));
            sorted(Value::Object(counted.collect()))
        }
        Ok(other) => sorted(other),
        Err(_) => return definition.to_owned(),
    };
    serde_json::to_string_pretty(&counted).unwrap_or_else(|_| definition.to_owned())
}

/// Definitions nest no deeper than what serde reads.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members
                .into_iter()
                .map(|(key, value)| (key, sorted(value)))
                .collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(members.into_iter().collect())
        }
        Value::Array(elements) => Value::Array(elements.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// What changed, as lines that begin with `-`, `+` or a blank.
pub(super) fn diff(before: &str, now: &str) -> String {
    let [before, now] = [before, now].map(|text| {
        let mut lines = lines_of(text);
        if let Some((end, _)) = lines.match_indices('\n').nth(LINES) {
            lines.truncate(end);
            lines.push_str("\n…");
        }
        lines.push('\n');
        lines
    });
    let diff = TextDiff::from_lines(&before, &now);
    let text = diff.unified_diff().context_radius(3).to_string();
    // The heads of its parts say line numbers of a text that nobody has.
    let lines = text.lines().filter(|line| !line.starts_with("@@"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_counts_is_compared() {
        let before = r#"{"name":"a","description":"Reads.","inputSchema":{"b":1,"a":2}}"#;
        let same = r#"{"inputSchema":{"a":2,"b":1},"icons":[],"name":"a","description":"Reads."}"#;
        assert_eq!(diff(before, same), "");
        let other = before.replace("Reads.", "Writes.");
        let shown = diff(before, &other);
        assert!(shown.contains("-  \"description\": \"Reads.\""), "{shown}");
        assert!(shown.contains("+  \"description\": \"Writes.\""), "{shown}");
    }
}
