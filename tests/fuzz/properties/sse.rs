//! Event streams: the same events however the bytes are cut, those of the standard, and never more memory than allowed.

use std::time::Duration;

use mcpproxy::link::remote::sse::{Parser, TooLarge};

use super::ways::Ways;

/// Larger than any input with all that the parser counts.
const ROOMY: usize = 1 << 24;

/// Any bytes as a stream.
pub fn check(stream: &[u8]) {
    check_in(Ways::All, stream);
}

/// With limits and in pieces of some sizes.
pub fn check_in(ways: Ways, stream: &[u8]) {
    let expected = by_the_standard(stream);
    for &limit in ways.among(&[16, 100, ROOMY]) {
        let whole = read(stream, stream.len().max(1), limit);
        for &piece in ways.beyond(3).among(&[1, 2, 3, 7, 64]) {
            assert_eq!(read(stream, piece, limit), whole, "in pieces of {piece}");
        }
        if whole.outcome.is_ok() {
            assert_eq!(whole, expected);
        } else {
            assert!(limit < ROOMY, "nothing here is too large");
            assert!(expected.events.starts_with(&whole.events));
        }
        assert!(whole.events.iter().all(|event| event.data.len() <= limit));
        let longest = lines(stream).map(<[u8]>::len).max().unwrap_or_default();
        assert!(whole.outcome.is_err() || longest <= limit);
    }
}

/// Everything that can be seen of a stream.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    events: Vec<Event>,
    last_id: Vec<u8>,
    retry: Option<Duration>,
    outcome: Result<(), TooLarge>,
}

#[derive(Debug, PartialEq, Eq)]
struct Event {
    name: Vec<u8>,
    data: Vec<u8>,
}

fn read(stream: &[u8], piece: usize, limit: usize) -> Seen {
    let mut parser = Parser::new(limit);
    let mut events = Vec::new();
    let mut outcome = Ok(());
    'stream: for chunk in stream.chunks(piece) {
        parser.feed(chunk);
        loop {
            match parser.next_event() {
                Ok(None) => break,
                Ok(Some(event)) => {
                    let name = event.name.as_deref().unwrap_or(b"message").to_vec();
                    assert_eq!(event.is_message(), name == b"message");
                    let data = event.data.to_vec();
                    events.push(Event { name, data });
                }
                Err(too_large) => {
                    outcome = Err(too_large);
                    break 'stream;
                }
            }
        }
    }
    Seen {
        events,
        last_id: parser.last_id().map(|id| id.to_vec()).unwrap_or_default(),
        retry: parser.retry(),
        outcome,
    }
}

/// The stream without its byte order mark, by lines; the last one has not ended.
fn lines(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream));
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Some(end) = text.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            return Some(text);
        };
        let line_end = if text[end..].starts_with(b"\r\n") {
            2
        } else {
            1
        };
        rest = Some(&text[end + line_end..]);
        Some(&text[..end])
    })
}

/// WHATWG HTML, "Interpreting an event stream", word for word; but for ids too long for a header and events with empty data,
/// which carry no message.
fn by_the_standard(stream: &[u8]) -> Seen {
    const LONGEST_ID: usize = 4096;
    let (mut events, mut last_id, mut retry) = (Vec::new(), Vec::new(), None);
    let (mut data, mut name, mut id) = (Vec::new(), Vec::new(), Vec::new());
    let mut ended: Vec<&[u8]> = lines(stream).collect();
    ended.pop();
    for line in ended {
        if line.is_empty() {
            last_id.clone_from(&id);
            data.pop();
            if !data.is_empty() {
                let name = if name.is_empty() {
                    b"message".to_vec()
                } else {
                    name.clone()
                };
                events.push(Event {
                    name,
                    data: std::mem::take(&mut data),
                });
            }
            data.clear();
            name.clear();
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => name = value.to_vec(),
            b"data" => {
                data.extend_from_slice(value);
                data.push(b'\n');
            }
            b"id" if !value.contains(&0) && value.len() <= LONGEST_ID => id = value.to_vec(),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let digits = str::from_utf8(value).expect("digits");
                retry = digits.parse().ok().map(Duration::from_millis).or(retry);
            }
            _ => (),
        }
    }
    Seen {
        events,
        last_id,
        retry,
        outcome: Ok(()),
    }
}
