//! Server-Sent Events as text.

use bytes::{BufMut, Bytes, BytesMut};

/// One frame as an event. Line breaks in valid JSON stand between tokens only; each line becomes a data line of its own.
pub(super) fn event(frame: &[u8]) -> Bytes {
    let mut text = BytesMut::with_capacity(frame.len() + 32);
    text.put_slice(b"event: message\ndata: ");
    let mut from = 0;
    for at in memchr::memchr2_iter(b'\n', b'\r', frame) {
        text.put_slice(&frame[from..at]);
        text.put_slice(b"\ndata: ");
        from = at + 1;
    }
    text.put_slice(&frame[from..]);
    text.put_slice(b"\n\n");
    text.freeze()
}

/// Says that somebody is there; no client takes it for a message.
pub(super) fn comment() -> Bytes {
    Bytes::from_static(b": keep-alive\n\n")
}

#[cfg(test)]
mod tests {
    use super::event;

    #[test]
    fn a_frame_is_one_event_however_it_is_laid_out() {
        assert_eq!(&event(b"{}")[..], b"event: message\ndata: {}\n\n");
        assert_eq!(
            &event(b"{\n \"a\":1\r\n}")[..],
            b"event: message\ndata: {\ndata:  \"a\":1\ndata: \ndata: }\n\n"
        );
    }
}
