//! Where in the text of the file a key stands. Pure.

use std::fmt;

use jsonc_parser::{ast, common::Ranged};

use super::document::{BYTE_ORDER_MARK, tree};

/// A place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineColumn {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
}

impl LineColumn {
    /// Of what stands at this byte.
    pub(super) fn of_byte(text: &str, at: usize) -> Self {
        let before = text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: 1 + before.matches('\n').count(),
            column: 1 + line.chars().count(),
        }
    }

    /// Of the key of this path, such as `profiles.work.tools[1]`, or of the innermost one around it that stands there.
    pub(super) fn of_key(text: &str, path: &str) -> Option<Self> {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let root = tree(text).ok()??;
        let (mut value, mut rest, mut found) = (&root, path, None);
        while let ast::Value::Object(object) = value {
            // The last of several counts, and the longest, because a key may have a dot in it.
            let names = object.properties.iter().rev().filter_map(|property| {
                let after = rest.strip_prefix(property.name.as_str())?;
                (after.is_empty() || after.starts_with(['.', '['])).then_some((after, property))
            });
            let Some((after, property)) = names.min_by_key(|(after, _)| after.len()) else {
                break;
            };
            found = Some(property.start());
            rest = after.strip_prefix('.').unwrap_or(after);
            value = &property.value;
        }
        found.map(|at| Self::of_byte(text, at))
    }
}

impl fmt::Display for LineColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_its_path() {
        let text = "{\n  \"a\": {\"b.c\": {\"d\": [1]}},\n  \"é\": 1, \"f\": {}\n}";
        let check = |path: &str, expected: Option<(usize, usize)>| {
            let found = LineColumn::of_key(text, path);
            assert_eq!(
                found.map(|place| (place.line, place.column)),
                expected,
                "{path}"
            );
        };
        check("a", Some((2, 3)));
        check("a.b.c.d[0]", Some((2, 17)));
        check("a.x", Some((2, 3)));
        check("f.x.y", Some((3, 11)));
        check("x", None);
    }
}
