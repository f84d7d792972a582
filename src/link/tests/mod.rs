//! What the tests of the links over HTTP share.

pub(super) mod odd_server;

use std::time::Duration;

use bytes::Bytes;

use crate::wire::Message;

/// A result that a typed model would not give back as it came.
pub(super) const ODD: &str = r#"{"content":[{"type":"video","x-q":1.10}], "z":12345678901234567890123,"a":{"b":[]},"x":"\u00e9é","messages":[]}"#;

/// Nothing in these tests takes long; what hangs shall fail.
pub(super) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), work)
        .await
        .expect("it takes too long")
}

/// The method of a frame; empty if it has none.
pub(super) fn frame_method(frame: &[u8]) -> String {
    match Message::parse(&Bytes::copy_from_slice(frame)) {
        Ok(Message::Request(request)) => request.method.into(),
        Ok(Message::Notification(notice)) => notice.method.into(),
        _ => String::new(),
    }
}
