//! A definition as lines for people, and the lines that differ between two. The only user of `similar`. Pure.

use std::{
    borrow::Cow,
    time::{Duration, Instant},
};

use serde_json::Value;
use similar::{
    ChangeTag, DiffOp,
    algorithms::{Capture, Compact, Replace, myers},
    group_diff_ops,
};

use crate::{
    catalog::without_values,
    text::secret::Secrets,
    trust::{
        fingerprint::{Fingerprint, counts},
        scanner::Scanner,
    },
    wire::Raw,
};

/// Limit: lines of a text that is compared. A diff of more takes longer than anybody reads it.
const LINES: usize = 5_000;

/// The longest changed line that is shown whole, in characters.
const WHOLE: usize = 160;

/// Characters that are shown on each side of a change within a longer line.
const AROUND: usize = 40;

/// How long the words of a line are compared; the rest of the line then counts as changed.
const COMPARED_WITHIN: Duration = Duration::from_millis(100);

/// The keys of a definition that approvals compare, or all keys if `is_whole`, as JSON with sorted keys.
fn lines_of(definition: &str, is_whole: bool) -> String {
    let counted = match serde_json::from_str(definition) {
        Ok(Value::Object(members)) => {
            let counted = members.into_iter();
            let counted = counted.filter(|(key, _)| is_whole || counts(key));
            sorted(Value::Object(counted.collect()))
        }
        // The instructions of a server are a text, not an object.
        Ok(Value::String(text)) => return text,
        Ok(other) => sorted(other),
        Err(_) => return definition.to_owned(),
    };
    serde_json::to_string_pretty(&counted).unwrap_or_else(|_| definition.to_owned())
}

/// A whole definition, laid out as JSON in the server's order of keys; unchanged if reading it as JSON would lose a part of it, such as a
/// key that appears twice.
pub(super) fn whole(secrets: &Secrets, definition: &Raw) -> String {
    let text = definition.as_str();
    let redacted = without_values::definition(secrets, text);
    let Ok(value) = serde_json::from_str::<Value>(&redacted) else {
        return redacted.into_owned();
    };
    let is_all = |value: &Value| {
        let read = Raw::parse_str(&value.to_string());
        read.is_ok_and(|read| Fingerprint::of_value(&read) == Fingerprint::of_value(definition))
    };
    if matches!(redacted, Cow::Borrowed(_)) && !is_all(&value) {
        return redacted.into_owned();
    }
    serde_json::to_string_pretty(&value).unwrap_or_else(|_| redacted.into_owned())
}

/// A value with sorted keys. The recursion is bounded: serde refuses JSON that nests too deep.
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

/// The changed lines, each after `-` or `+`, with up to three unchanged lines around them, each after a blank.
pub fn changed_lines(before: &str, now: &str) -> Vec<String> {
    let [before, now] = [before, now].map(|text| text.lines().collect::<Vec<&str>>());
    let parts = group_diff_ops(changes(&before, &now, None), 3);
    let lines = parts.iter().flatten();
    let lines = lines.flat_map(|change| change.iter_slices(&before, &now));
    let lines = lines.flat_map(|(tag, lines)| lines.iter().map(move |line| format!("{tag}{line}")));
    lines.collect()
}

/// The steps from one text to the other. Always Myers' algorithm over `&str`: the generic functions of `similar` would be compiled for each
/// kind of part, and are large.
fn changes(before: &[&str], now: &[&str], until: Option<Instant>) -> Vec<DiffOp> {
    let mut found = Compact::new(Replace::new(Capture::new()), before, now);
    let Ok(()) = myers::diff_deadline(
        &mut found,
        before,
        0..before.len(),
        now,
        0..now.len(),
        until,
    );
    found.into_inner().into_inner().into_ops()
}

/// The difference of two definitions, as lines that begin with `-`, `+` or a blank.
pub(super) fn diff(before: &str, now: &str) -> String {
    let objects = |text: &str| {
        let definition = Raw::parse_str(text);
        definition.is_ok_and(|definition| Scanner::default().objects_beside(&definition))
    };
    let is_whole = objects(before) || objects(now);
    let [before, now] = [before, now].map(|text| {
        let mut lines = lines_of(text, is_whole);
        if let Some((end, _)) = lines.match_indices('\n').nth(LINES) {
            lines.truncate(end);
            lines.push_str("\n…");
        }
        lines.push('\n');
        lines
    });
    let lines = changed_lines(&before, &now);
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut shown = Vec::with_capacity(lines.len());
    let mut rest = &lines[..];
    while let Some(line) = rest.first() {
        let run = |lines: &[&str], mark| lines.iter().take_while(|l| l.starts_with(mark)).count();
        let removed = run(rest, '-');
        let (before, after) = rest.split_at(removed);
        let (now, after) = after.split_at(run(after, '+'));
        if removed > 0 && removed == now.len() {
            // As many new lines as old ones: each replaces one.
            let pairs = before
                .iter()
                .zip(now)
                .map(|(before, now)| within(before, now));
            let (before, now): (Vec<_>, Vec<_>) = pairs.map(Into::into).unzip();
            shown.extend(before.into_iter().chain(now));
            rest = after;
        } else {
            shown.push((*line).to_owned());
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    shown.join("\n")
}

/// A replaced line and its replacement. Of long ones only the changed words, marked `[-old-]` and `{+new+}`, and some around them.
fn within(before: &str, now: &str) -> [String; 2] {
    if before.chars().count().max(now.chars().count()) <= WHOLE {
        return [before.to_owned(), now.to_owned()];
    }
    let [old, new] = [before, now].map(|line| -> Vec<&str> {
        let line = line.get(1..).unwrap_or_default();
        line.split_inclusive(char::is_whitespace).collect()
    });
    let found = changes(&old, &new, Some(Instant::now() + COMPARED_WITHIN));
    let stretches = found
        .iter()
        .flat_map(|change| change.iter_slices(&old, &new));
    let stretches: Vec<(ChangeTag, String)> = stretches
        .map(|(tag, words)| (tag, words.concat()))
        .collect();
    let last = stretches.len().saturating_sub(1);
    let [mut old, mut new] = ["-".to_owned(), "+".to_owned()];
    for (at, (tag, text)) in stretches.iter().enumerate() {
        match tag {
            ChangeTag::Equal => {
                let text = shortened(text, at == 0, at == last);
                old.push_str(&text);
                new.push_str(&text);
            }
            ChangeTag::Delete => old.extend(["[-", text, "-]"]),
            ChangeTag::Insert => new.extend(["{+", text, "+}"]),
        }
    }
    [old, new]
}

/// An unchanged stretch of a line, shortened to its ends beside the changes before and after it.
fn shortened(text: &str, is_first: bool, is_last: bool) -> String {
    let length = text.chars().count();
    let head = if is_first { 0 } else { AROUND };
    let tail = if is_last { 0 } else { AROUND };
    if length <= head + tail + 1 {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(head).collect();
    short.push('…');
    short.extend(text.chars().skip(length - tail));
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_line_only_what_changed_and_the_words_around_it_are_shown() {
        let long = "Lists the notes of a notebook. ".repeat(25);
        let of = |last: &str| {
            let text = format!("{long}They are sorted by {last}.");
            serde_json::json!({ "name": "a", "description": text }).to_string()
        };
        let shown = diff(&of("date"), &of("day"));
        assert!(shown.contains("sorted by [-date"), "{shown}");
        assert!(shown.contains("sorted by {+day"), "{shown}");
        assert!(
            shown.lines().all(|line| line.chars().count() <= WHOLE),
            "{shown}"
        );
        let lengths = [("ab", true, false), ("ab", false, true)];
        for (text, is_first, is_last) in lengths {
            assert_eq!(shortened(text, is_first, is_last), text);
        }
    }

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
