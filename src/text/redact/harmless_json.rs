//! A fast way past redaction for most JSON: it has nothing in it that could be a secret, which one pass tells.

use super::table::{OF_STRUCTURE, TABLE, TextKind, is_secret_name};

/// The most lists and objects.
const MOST_OPENINGS: usize = 16;

/// Whether certainly nothing of a text of JSON would be redacted or written otherwise. What it does not let pass may be harmless.
pub fn is_harmless_json(json: &str) -> bool {
    if !is_plain(json.as_bytes()) {
        return false;
    }
    let mut rows = TABLE.rows_in(json);
    if json.contains('\\') {
        // An escape is no part of any word, but not what rows take it for.
        return rows == 0;
    }
    if rows & TABLE.of_names != 0 && !is_secret_name(json) {
        rows &= !TABLE.of_names;
    }
    rows == 0
        || rows & (OF_STRUCTURE | TABLE.of_names) == 0
            && TABLE.ranges(rows, json, TextKind::Record).is_empty()
}

/// Whether JSON stands in one line, with no escapes but the commonest, without JSON in its texts, and has few lists and objects.
fn is_plain(json: &[u8]) -> bool {
    let (mut openings, mut is_text, mut begins) = (0, false, false);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                is_text = !is_text;
                begins = is_text;
            }
            b' ' => (),
            b'\\' => match bytes.next() {
                Some(b'n' | b't' | b'r') => (),
                Some(b'"' | b'\\') => begins = false,
                _ => return false,
            },
            0..b' ' => return false,
            b'{' | b'[' if begins => return false,
            b'{' | b'[' if !is_text => openings += 1,
            _ => begins = false,
        }
        if is_text && !begins {
            // Nothing else matters in a text.
            let rest = bytes.as_slice();
            let next = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
            bytes = rest.get(next..).unwrap_or_default().iter();
        }
    }
    openings <= MOST_OPENINGS
}
