//! A JSON-RPC message as it is written: a frame around a payload that stays as it is.

use bytes::Bytes;

use super::{Id, Outcome, Raw, Response};

/// A message as it is sent. A large payload is not copied: it stands between two pieces of ours.
#[derive(Debug, Clone)]
pub struct MessageFrame {
    /// All of it, or what stands before the payload or behind it.
    text: Bytes,
    payload: Option<Bytes>,
}

/// From this size on, a payload is sent by itself.
const LARGE: usize = 8 << 10;

/// What stands behind a payload.
const END: &[u8] = b"}";

impl MessageFrame {
    /// Around a payload, if there is one, for which `begun` has room if it is small.
    fn around(mut begun: Vec<u8>, payload: Option<&Raw>) -> Self {
        let payload = payload.map(Raw::bytes);
        let large = payload.filter(|payload| payload.len() >= LARGE);
        if large.is_none() {
            begun.extend_from_slice(payload.map(|payload| &payload[..]).unwrap_or_default());
            begun.extend_from_slice(END);
        }
        Self {
            text: begun.into(),
            payload: large.cloned(),
        }
    }

    /// All of it in one piece.
    pub fn joined(self) -> Bytes {
        match self.payload {
            None => self.text,
            Some(payload) => [&self.text[..], &payload, END].concat().into(),
        }
    }

    /// The bytes that are left of it.
    pub fn size(&self) -> usize {
        let payload = self.payload.as_ref();
        self.text.len() + payload.map_or(0, |payload| payload.len() + END.len())
    }

    /// Takes what comes next of it.
    pub fn next_piece(&mut self) -> Option<Bytes> {
        if !self.text.is_empty() {
            return Some(std::mem::take(&mut self.text));
        }
        let payload = self.payload.take()?;
        self.text = Bytes::from_static(END);
        Some(payload)
    }
}

impl From<Bytes> for MessageFrame {
    fn from(whole: Bytes) -> Self {
        Self {
            text: whole,
            payload: None,
        }
    }
}

/// How much room a small payload takes.
fn room_for(payload: Option<&Raw>) -> usize {
    let size = payload.map_or(0, |payload| payload.as_bytes().len());
    if size < LARGE { size } else { 0 }
}

/// Writes a request.
pub fn request_frame(id: &Id, method: &str, params: Option<&Raw>) -> MessageFrame {
    let mut text = Vec::with_capacity(64 + method.len() + room_for(params));
    text.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    text.extend_from_slice(id.as_bytes());
    text.push(b',');
    finish_call(text, method, params)
}

/// Writes a notification.
pub fn notification_frame(method: &str, params: Option<&Raw>) -> Bytes {
    let mut text = Vec::with_capacity(64 + method.len() + room_for(params));
    text.extend_from_slice(br#"{"jsonrpc":"2.0","#);
    finish_call(text, method, params).joined()
}

fn finish_call(mut text: Vec<u8>, method: &str, params: Option<&Raw>) -> MessageFrame {
    text.extend_from_slice(br#""method":"#);
    serde_json::to_writer(&mut text, method).expect("writing a string to memory");
    if params.is_some() {
        text.extend_from_slice(br#","params":"#);
    }
    MessageFrame::around(text, params)
}

/// Writes a successful answer.
pub fn result_frame(id: &Id, result: &Raw) -> MessageFrame {
    answer(Some(id), br#""result":"#, result)
}

/// Writes an error answer around an `error` object.
pub fn error_frame(id: Option<&Id>, error: &Raw) -> Bytes {
    answer(id, br#""error":"#, error).joined()
}

fn answer(id: Option<&Id>, key: &[u8], payload: &Raw) -> MessageFrame {
    let id = id.map_or(&b"null"[..], Id::as_bytes);
    let mut text = Vec::with_capacity(40 + id.len() + room_for(Some(payload)));
    text.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    text.extend_from_slice(id);
    text.push(b',');
    text.extend_from_slice(key);
    MessageFrame::around(text, Some(payload))
}

/// A response: a result, or an error.
pub fn response_frame(id: &Id, outcome: &Outcome) -> Bytes {
    match outcome {
        Outcome::Result(result) => result_frame(id, result).joined(),
        Outcome::Error(error) => error_frame(Some(id), error),
    }
}

impl Response {
    /// Writes this outcome as the answer to another id.
    pub fn frame_for(&self, id: &Id) -> Bytes {
        response_frame(id, &self.outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_payload_is_a_piece_of_its_own() {
        for size in [0, 1, LARGE - 3, LARGE - 2, LARGE - 1, 3 * LARGE] {
            let payload = Raw::author(&"x".repeat(size));
            let mut frame = result_frame(&Id::ours(1), &payload);
            let whole = frame.clone().joined();
            let expected = format!(
                r#"{{"jsonrpc":"2.0","id":"p1","result":{}}}"#,
                payload.as_str()
            );
            assert_eq!(whole, expected);
            let (mut pieces, mut left) = (Vec::new(), frame.size());
            assert_eq!(left, whole.len());
            while let Some(piece) = frame.next_piece() {
                left -= piece.len();
                assert_eq!(frame.size(), left);
                pieces.push(piece);
            }
            assert_eq!(pieces.concat(), whole);
            let shared = |piece: &Bytes| piece.as_ptr() == payload.as_bytes().as_ptr();
            assert_eq!(pieces.iter().any(shared), size + 2 >= LARGE, "{size}");
        }
    }
}
