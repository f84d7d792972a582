//! The ids of events: which stream an event is of, and which in it. An id names the request that its stream is of, so that a client which
//! comes back for a stream that no longer exists can learn what became of the request. Nobody else's streams can be guessed.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;

use crate::wire::{Id, Raw};

/// Limit: bytes of a request's id that stand in those of events.
const MAX_REQUEST_ID: usize = 64;

/// Characters of the part that cannot be guessed.
const RANDOM: usize = 32;

/// What a stream is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StreamOf {
    /// Notices besides answers.
    Session,
    /// The request of this id.
    Request(Id),
}

/// The name of a new stream.
pub(super) fn new_stream(of: &StreamOf) -> Box<str> {
    let random = uuid::Uuid::new_v4().simple();
    match of {
        StreamOf::Session => random.to_string(),
        StreamOf::Request(id) => {
            let id = Some(id.as_bytes()).filter(|id| id.len() <= MAX_REQUEST_ID);
            let id = BASE64_URL_SAFE_NO_PAD.encode(id.unwrap_or_default());
            format!("{random}.{id}")
        }
    }
    .into()
}

/// The name of the stream and the number of the event there.
pub(super) fn parts(event_id: &str) -> Option<(&str, u64)> {
    let (stream, number) = event_id.rsplit_once('-')?;
    Some((stream, number.parse().ok()?))
}

/// What the stream of an event was for; `None` if that is unknown, or the id is not one of mcpproxy.
pub(super) fn stream_of(event_id: &str) -> Option<StreamOf> {
    let (stream, _) = parts(event_id)?;
    let (random, request) = match stream.split_once('.') {
        Some((random, request)) => (random, Some(request)),
        None => (stream, None),
    };
    let is_ours = random.len() == RANDOM && random.bytes().all(|c| c.is_ascii_hexdigit());
    let Some(request) = request else {
        return is_ours.then_some(StreamOf::Session);
    };
    let id = BASE64_URL_SAFE_NO_PAD.decode(request).ok()?;
    let id = Raw::parse(&Bytes::from(id)).ok()?;
    let id = Id::from_raw(&id).filter(|id| is_ours && id.as_bytes().len() <= MAX_REQUEST_ID)?;
    Some(StreamOf::Request(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_event_says_what_its_stream_was_for() {
        let id = |text: &str| Id::from_raw(&Raw::parse_str(text).expect("JSON")).expect("an id");
        for text in ["7", "-1.5", r#""a-b.c""#, r#""é""#] {
            let of = StreamOf::Request(id(text));
            let stream = new_stream(&of);
            let event = format!("{stream}-12");
            assert_eq!(parts(&event), Some((&*stream, 12)));
            assert_eq!(stream_of(&event), Some(of), "{text}");
        }
        let own = new_stream(&StreamOf::Session);
        assert_eq!(stream_of(&format!("{own}-0")), Some(StreamOf::Session));
        let long = format!("\"{}\"", "x".repeat(MAX_REQUEST_ID));
        let long = new_stream(&StreamOf::Request(id(&long)));
        assert_eq!(stream_of(&format!("{long}-1")), None, "it cannot be told");
        let random = own.as_ref();
        for other in [
            String::new(),
            random.to_owned(),
            format!("{random}-x"),
            format!("{random}.-1"),
            format!("{random}.!!-1"),
            format!("{random}.e30-1"),
            "x-1".to_owned(),
        ] {
            assert_eq!(stream_of(&other), None, "{other}");
        }
    }
}
