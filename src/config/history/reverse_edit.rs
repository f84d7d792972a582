//! The edit that turns a text of the configuration back into the one before it, and whether it contains a secret. Pure.

use std::ops::Range;

use jsonc_parser::{ast, common::Ranged};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    config::{
        Document,
        document::{self, SERVERS},
        shown_file::{shown_entry, shown_setting},
    },
    text::{TextKind, cut::common_ends, redact},
};

/// Turns a text back into the one before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReverseEdit {
    /// The byte at which the texts begin to differ.
    at: usize,
    /// How many bytes to remove there.
    remove: usize,
    /// The text to insert there.
    insert: String,
}

impl ReverseEdit {
    /// The edit from `after` to `before`.
    pub(super) fn between(before: &str, after: &str) -> Self {
        let (at, end) = common_ends(before, after);
        let insert = before.get(at..before.len() - end);
        Self {
            at,
            remove: after.len() - end - at,
            insert: insert.unwrap_or_default().to_owned(),
        }
    }

    /// The text before; nothing where the edit does not fit this text.
    pub(super) fn apply(&self, after: &str) -> Option<String> {
        let head = after.get(..self.at)?;
        let tail = after.get(self.at.checked_add(self.remove)?..)?;
        Some(format!("{head}{}{tail}", self.insert))
    }

    /// How many bytes it inserts.
    pub(super) fn len(&self) -> usize {
        self.insert.len()
    }

    /// Whether the inserted part of `before` contains a secret, or a part of one.
    pub(super) fn has_secrets(&self, before: &Document<'_>) -> bool {
        let written = self.at..self.at + self.insert.len();
        let range = before.range_in_text(&written);
        !written.is_empty()
            && (looks_secret(before.written, &written)
                || hidden_in_settings(before, &range)
                || hidden_in_entries(before, &range))
    }
}

/// Whether something in the range looks like a secret, in view of its whole lines.
fn looks_secret(text: &str, range: &Range<usize>) -> bool {
    let head = text.get(..range.start).unwrap_or_default();
    let tail = text.get(range.end..).unwrap_or_default();
    let start = head.rfind('\n').map_or(0, |line| line + 1);
    let end = range.end + tail.find('\n').unwrap_or(tail.len());
    let lines = text.get(start..end).unwrap_or_default();
    let hidden = redact::hidden_ranges(lines, TextKind::Prose).into_iter();
    let mut hidden = hidden.map(|part| start + part.start..start + part.end);
    hidden.any(|part| overlap(&part, range))
}

/// Whether listings mask a part of a setting in the range.
fn hidden_in_settings(document: &Document<'_>, range: &Range<usize>) -> bool {
    let members = document.members().iter();
    let mut settings = members.filter(|member| member.name.as_str() != SERVERS);
    settings.any(|member| {
        touches(&member.value, range) && {
            let value = document::value_of(&member.value);
            let shown = shown_setting(member.name.as_str(), &value);
            hides(&member.value, &shown, range)
        }
    })
}

/// Whether listings mask a part of a server's entry in the range.
fn hidden_in_entries(document: &Document<'_>, range: &Range<usize>) -> bool {
    let mut servers = document.servers_in_tree();
    servers.any(|(server, entry)| {
        touches(entry, range) && {
            let mut shown = shown_entry(&server.entry);
            if let (Value::Object(shown), Some(name)) = (&mut shown, &server.name) {
                // In an array of servers it is one of their keys.
                shown.entry("name").or_insert_with(|| name.as_str().into());
            }
            hides(entry, &shown, range)
        }
    })
}

/// Whether `shown` masks a part of the value in the range.
fn hides(value: &ast::Value<'_>, shown: &Value, range: &Range<usize>) -> bool {
    if !touches(value, range) {
        return false;
    }
    match (value, shown) {
        (ast::Value::Object(object), Value::Object(shown)) => {
            let mut members = object.properties.iter();
            members.any(|member| {
                let shown = shown.get(member.name.as_str());
                touches(member, range)
                    && shown.is_none_or(|shown| hides(&member.value, shown, range))
            })
        }
        (ast::Value::Array(list), Value::Array(shown)) if list.elements.len() == shown.len() => {
            let mut elements = list.elements.iter().zip(shown);
            elements.any(|(element, shown)| hides(element, shown, range))
        }
        (value, shown) => document::value_of(value) != *shown,
    }
}

fn touches(node: &impl Ranged, range: &Range<usize>) -> bool {
    overlap(&(node.start()..node.end()), range)
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, has_secrets: bool) {
        let back = ReverseEdit::between(before, after);
        assert_eq!(back.apply(after).as_deref(), Some(before));
        let before = document::read(before).expect("a good document");
        assert_eq!(back.has_secrets(&before), has_secrets, "{back:?}");
    }

    #[test]
    fn a_reverse_edit_that_would_bring_a_secret_is_noticed() {
        let one = r#"{"top_k": 5, "mcpServers": {"a": {"command": "x", "env": {"API_KEY": "s3cret-1"}}}}"#;
        let secret = one.replace("s3cret-1", "s3cret-2");
        check(one, &secret, true);
        check(one, r#"{"top_k": 5, "mcpServers": {}}"#, true);
        check(one, &one.replace("5,", "7,"), false);
        check(one, &one.replace("{\"top", "{ \"top"), false);
        check("{}", one, false);
        let auth = r#"{"serverAuth": {"provider": "bearer", "bearer": {"tokens": {"s3cret-token-aaaaaaa": "ada"}}}}"#;
        check(auth, &auth.replace("aaaaaaa", "bbbbbbb"), true);
        check(auth, &auth.replace("bearer\",", "none\","), false);
        let comment = "{ // ghp_0123456789abcdefghijABCDEFGHIJ012345\n \"top_k\": 1}";
        check(comment, "{\n \"top_k\": 1}", true);
        check(comment, &comment.replace(": 1", ": 2"), false);
    }

    #[test]
    fn places_are_right_in_a_list_of_servers_and_behind_a_byte_order_mark() {
        let listed = r#"{"mcpServers": [{"name": "a", "command": "x", "args": ["1"], "env": {"API_KEY": "s3cret-1"}}]}"#;
        for mark in ["", "\u{feff}"] {
            let before = format!("{mark}{listed}");
            check(&before, &before.replace("[\"1\"]", "[]"), false);
            check(&before, &before.replace("s3cret-1", "s3cret-2"), true);
        }
    }
}
