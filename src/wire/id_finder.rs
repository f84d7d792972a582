//! Finds the id of a message that is too large or too malformed to be parsed, so that the request with this id can fail at once
//! instead of at its deadline.

use bytes::Bytes;

use super::Id;

/// Is fed the bytes of one message and keeps the value of its top-level `id`. Keeps a few bytes, whatever the size.
#[derive(Debug, Default)]
pub struct IdFinder {
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// The string or scalar at depth one that is being read.
    token: Vec<u8>,
    /// The last key at depth one was `id` and its colon has passed.
    after_id: bool,
    found: Option<Vec<u8>>,
}

/// Limit: longest id remembered. Ours have about ten bytes.
const MAX_ID: usize = 256;

impl IdFinder {
    /// Takes the next bytes of the message.
    pub fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// The id, if one was seen.
    pub fn finish(mut self) -> Option<Id> {
        self.end_scalar();
        let text = Bytes::from(self.found?);
        let value: &serde_json::value::RawValue = serde_json::from_slice(&text).ok()?;
        Id::of(&text, value.get().as_bytes())
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.remember(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_string = false;
                    if self.after_id {
                        self.end_scalar();
                    }
                }
                _ => (),
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.token.clear();
                self.remember(byte);
            }
            b'{' | b'[' => {
                self.end_scalar();
                self.after_id = false;
                self.depth = self.depth.saturating_add(1);
            }
            b'}' | b']' => {
                self.end_scalar();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_scalar(),
            b':' => {
                self.after_id = self.depth == 1 && self.found.is_none() && is_id(&self.token);
                self.token.clear();
            }
            b' ' | b'\t' | b'\r' | b'\n' => (),
            _ => self.remember(byte),
        }
    }

    /// One byte past the limit is kept too: it shows that the id was cut, and a cut id would be another id.
    fn remember(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() <= MAX_ID {
            self.token.push(byte);
        }
    }

    fn end_scalar(&mut self) {
        if self.after_id && (1..=MAX_ID).contains(&self.token.len()) {
            self.found = Some(std::mem::take(&mut self.token));
        }
        self.after_id = false;
        self.token.clear();
    }
}

/// Whether a key spells `id`, escapes resolved.
fn is_id(key: &[u8]) -> bool {
    key == b"\"id\""
        || (key.contains(&b'\\')
            && serde_json::from_slice(key).is_ok_and(|name: String| name == "id"))
}

#[cfg(test)]
mod tests;
