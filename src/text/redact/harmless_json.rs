//! A fast path past redaction: one pass over most JSON shows that nothing in it could be a secret.

use super::table::{OF_STRUCTURE, TABLE, TextKind, is_secret_name};

/// The most lists and objects in JSON that takes the fast path.
const MOST_OPENINGS: usize = 16;

/// Whether redaction would certainly leave this JSON as it is, byte for byte. False does not mean that there is a secret.
pub fn is_harmless_json(json: &str) -> bool {
    if !is_plain(json.as_bytes()) {
        return false;
    }
    let mut rows = TABLE.rows_in(json);
    if json.contains('\\') {
        // The patterns of rows do not expect escapes.
        return rows == 0;
    }
    if rows & TABLE.of_names != 0 && !is_secret_name(json) {
        rows &= !TABLE.of_names;
    }
    rows == 0
        || rows & (OF_STRUCTURE | TABLE.of_names) == 0
            && TABLE.ranges(rows, json, TextKind::Record).is_empty()
}

/// Whether JSON is on one line, has only the commonest escapes, no JSON inside its strings, and few lists and objects.
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
            // Inside a string only its end and escapes matter.
            let rest = bytes.as_slice();
            let next = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
            bytes = rest.get(next..).unwrap_or_default().iter();
        }
    }
    openings <= MOST_OPENINGS
}
