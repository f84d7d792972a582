//! Replaces, inserts or removes one value in the text of a JSON document, and leaves every other byte as it is.
//!
//! It works on ranges of text, which `tree` takes from the syntax tree.

use std::ops::Range;

use serde_json::Value;

/// An object or array in the text.
pub(super) struct Container {
    /// From its opening to after its closing bracket.
    pub(super) range: Range<usize>,
    /// Its properties or elements, in order.
    pub(super) members: Vec<Range<usize>>,
}

/// A member to insert into a container.
pub(super) struct NewMember<'a> {
    /// The key of a property; nothing for an array's element.
    pub(super) key: Option<&'a str>,
    pub(super) value: &'a Value,
}

/// Replaces a value.
pub(super) fn replace(text: &str, range: &Range<usize>, value: &Value) -> String {
    let style = Style::of(text);
    let indent = indent_at(text, range.start);
    let mut out = slice(text, 0..range.start).to_owned();
    style.write(&mut out, value, Some(indent));
    out.push_str(slice(text, range.end..text.len()));
    out
}

/// Inserts a member at the end of a container, laid out like the members before it.
pub(super) fn append(text: &str, container: &Container, member: &NewMember<'_>) -> String {
    let style = Style::of(text);
    let close = container.range.end.saturating_sub(1);
    let outer = indent_at(text, container.range.start);
    let is_inline =
        !container.members.is_empty() && !slice(text, container.range.clone()).contains('\n');
    let Some(last) = container.members.last() else {
        let inner = outer.to_owned() + style.unit;
        let gap = container.range.start + 1..close;
        let mut out = slice(text, 0..end_of_tokens(text, gap)).to_owned();
        style.write_line(&mut out, &inner, member);
        out.push_str(style.newline);
        out.push_str(outer);
        out.push_str(slice(text, close..text.len()));
        return out;
    };
    let gap = last.end..close;
    let comma = find_comma(text, gap.clone());
    let end = end_of_tokens(text, gap);
    let mut out = slice(text, 0..last.end).to_owned();
    if comma.is_none() {
        out.push(',');
    }
    out.push_str(slice(text, last.end..end));
    if is_inline {
        out.push(' ');
        style.write_member(&mut out, member, None);
        out.push_str(slice(text, end..text.len()));
        return out;
    }
    let inner = if starts_its_line(text, last.start) {
        indent_at(text, last.start).to_owned()
    } else {
        outer.to_owned() + style.unit
    };
    style.write_line(&mut out, &inner, member);
    if comma.is_some() {
        out.push(',');
    }
    if !slice(text, end..close).contains('\n') {
        out.push_str(style.newline);
        out.push_str(outer);
        out.push_str(slice(text, close..text.len()));
        return out;
    }
    out.push_str(slice(text, end..text.len()));
    out
}

/// Removes a member with its comma. Comments around it stay; a line that becomes empty is removed.
pub(super) fn remove(text: &str, container: &Container, index: usize) -> String {
    let Some(member) = container.members.get(index) else {
        return text.to_owned();
    };
    let next = container.members.get(index + 1);
    let close = container.range.end.saturating_sub(1);
    let after = member.end..next.map_or(close, |next| next.start);
    let mut cut = member.clone();
    let mut lone_comma = None;
    if let Some(comma) = find_comma(text, after) {
        if slice(text, member.end..comma).trim().is_empty() {
            cut.end = comma + 1;
        } else {
            lone_comma = Some(comma);
        }
    } else if let Some(previous) = index.checked_sub(1).and_then(|i| container.members.get(i)) {
        lone_comma = find_comma(text, previous.end..member.start);
    }
    let cut = with_blanks(text, cut);
    let mut cuts = [Some(cut), lone_comma.map(|comma| comma..comma + 1)];
    cuts.sort_by_key(|cut| cut.as_ref().map_or(0, |cut| cut.start));
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts.into_iter().flatten() {
        out.push_str(slice(text, from..cut.start));
        from = cut.end.max(from);
    }
    out.push_str(slice(text, from..text.len()));
    out
}

/// Extends a range to be removed by blanks around it: by the whole line if nothing else is on it, else on one side.
fn with_blanks(text: &str, cut: Range<usize>) -> Range<usize> {
    let before = slice(text, 0..cut.start);
    let after = slice(text, cut.end..text.len());
    let left = before.trim_end_matches([' ', '\t']).len();
    let right = text.len() - after.trim_start_matches([' ', '\t']).len();
    let rest = slice(text, right..text.len());
    let begins_line = left == 0 || slice(text, 0..left).ends_with('\n');
    let newline = ["\r\n", "\n"].into_iter().find(|n| rest.starts_with(n));
    match newline {
        Some(newline) if begins_line => left..right + newline.len(),
        None if begins_line => cut.start..right,
        Some(_) => left..right,
        None if rest.starts_with(['}', ']']) => left..right,
        None => cut.start..right,
    }
}

/// The layout of a text.
struct Style<'a> {
    unit: &'a str,
    newline: &'static str,
}

impl<'a> Style<'a> {
    fn of(text: &'a str) -> Self {
        let mut indents = text.lines().map(indent_of);
        let unit = indents.find(|indent| !indent.is_empty() && indent.len() <= 8);
        let unit = unit.unwrap_or("  ");
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { unit, newline }
    }

    /// Writes a member on a line of its own.
    fn write_line(&self, out: &mut String, indent: &str, member: &NewMember<'_>) {
        out.push_str(self.newline);
        out.push_str(indent);
        self.write_member(out, member, Some(indent));
    }

    fn write_member(&self, out: &mut String, member: &NewMember<'_>, indent: Option<&str>) {
        if let Some(key) = member.key {
            out.push_str(&Value::from(key).to_string());
            out.push_str(": ");
        }
        self.write(out, member.value, indent);
    }

    /// Writes a value: objects with one line for each property, other values on one line. Without an indent everything is on one line.
    fn write(&self, out: &mut String, value: &Value, indent: Option<&str>) {
        match value {
            Value::Object(object) if !object.is_empty() => {
                out.push('{');
                let inner = indent.map(|indent| indent.to_owned() + self.unit);
                for (index, (key, value)) in object.iter().enumerate() {
                    let member = NewMember {
                        key: Some(key),
                        value,
                    };
                    out.push_str(if index > 0 { "," } else { "" });
                    if let Some(inner) = &inner {
                        self.write_line(out, inner, &member);
                    } else {
                        out.push_str(if index > 0 { " " } else { "" });
                        self.write_member(out, &member, None);
                    }
                }
                if let Some(indent) = indent {
                    out.push_str(self.newline);
                    out.push_str(indent);
                }
                out.push('}');
            }
            Value::Array(array) => {
                out.push('[');
                for (index, element) in array.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    self.write(out, element, indent);
                }
                out.push(']');
            }
            other => out.push_str(&other.to_string()),
        }
    }
}

/// The indent of the line of an offset.
fn indent_at(text: &str, offset: usize) -> &str {
    let before = slice(text, 0..offset);
    let line = before.rfind('\n').map_or(0, |newline| newline + 1);
    indent_of(slice(text, line..text.len()))
}

/// The blanks at the beginning of a line.
fn indent_of(line: &str) -> &str {
    let rest = line.trim_start_matches([' ', '\t']);
    slice(line, 0..line.len() - rest.len())
}

fn starts_its_line(text: &str, offset: usize) -> bool {
    let before = slice(text, 0..offset).trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

/// The first comma in a range that has only blanks, commas and comments.
fn find_comma(text: &str, stretch: Range<usize>) -> Option<usize> {
    tokens(text, stretch)
        .find(|token| slice(text, token.clone()) == ",")
        .map(|token| token.start)
}

/// The end of the last comma or comment in such a range.
fn end_of_tokens(text: &str, stretch: Range<usize>) -> usize {
    let start = stretch.start;
    tokens(text, stretch)
        .last()
        .map_or(start, |token| token.end)
}

/// The commas and comments in a range between two values.
fn tokens(text: &str, stretch: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = stretch.start;
    std::iter::from_fn(move || {
        let rest = slice(text, at..stretch.end);
        let blank = rest.len() - rest.trim_start().len();
        let rest = slice(rest, blank..rest.len());
        let length = if rest.is_empty() {
            return None;
        } else if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        let start = at + blank;
        at = start + length;
        Some(start..at)
    })
}

/// A part of the text. Empty if the range does not fit, which does not happen with ranges from the syntax tree of the same text.
pub(super) fn slice(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}
