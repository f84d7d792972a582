//! Request ids.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;

/// A request's id as its sender wrote it: a JSON string or number (JSON-RPC 2.0 §4). Given back in the same spelling.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Id(Bytes);

impl Id {
    /// Takes an id that borrows from `frame`; `None` if it is neither string nor number.
    pub(super) fn of(frame: &Bytes, text: &[u8]) -> Option<Self> {
        matches!(text.first(), Some(b'"' | b'-' | b'0'..=b'9')).then(|| Self(frame.slice_ref(text)))
    }

    /// An id that stands in params, as in `notifications/cancelled`.
    pub fn from_raw(value: &super::Raw) -> Option<Self> {
        Self::of(value.bytes(), value.as_bytes())
    }

    /// The id of an own request: `"p17"`.
    pub fn ours(number: u64) -> Self {
        /// Bytes of the longest.
        const LONGEST: usize = 23;
        let mut text = Vec::with_capacity(LONGEST);
        text.extend_from_slice(b"\"p");
        serde_json::to_writer(&mut text, &number).expect("writing a number to memory");
        text.push(b'"');
        // Of its own size, not of the longest.
        Self(Bytes::copy_from_slice(&text))
    }

    /// Reads [`Id::ours`] back.
    pub fn our_number(&self) -> Option<u64> {
        let digits = self.0.strip_prefix(b"\"p")?.strip_suffix(b"\"")?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// A copy with memory of its own: for what outlives its frame.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// The id as a value, to stand in params.
    pub fn to_raw(&self) -> super::Raw {
        super::Raw::trusted(self.0.clone())
    }

    /// The JSON text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a slice of checked JSON")
    }
}

/// Gives own requests to one receiver their numbers, each once. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct RequestNumbers(Arc<AtomicU64>);

impl RequestNumbers {
    /// The number of the next request.
    pub fn take(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_ids_read_back() {
        assert_eq!(Id::ours(17).as_str(), "\"p17\"");
        assert_eq!(Id::ours(17).our_number(), Some(17));
        for foreign in ["17", "\"17\"", "\"p\"", "\"p17", "\"p-1\""] {
            assert_eq!(
                Id(Bytes::copy_from_slice(foreign.as_bytes())).our_number(),
                None,
                "{foreign}"
            );
        }
    }
}
