//! Server-Sent Events: chunks of bytes in, events out (WHATWG HTML, "Server-sent events"). Knows no HTTP and no JSON.

use std::{ops::Range, time::Duration};

use bytes::{Buf, Bytes, BytesMut};

/// Limit: longest event id that is remembered; it has to go into a header.
const MAX_ID: usize = 4096;

/// The room that a larger event took is let go with it: it would be kept for as long as the stream lasts.
const KEPT_SIZE: usize = 256 << 10;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event. An event without data is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The `event` field; none means `message`.
    pub name: Option<Bytes>,
    /// The data. One line is a slice of what was read; several are joined.
    pub data: Bytes,
}

impl Event {
    /// Whether it is of the default kind.
    pub fn is_message(&self) -> bool {
        self.name.as_deref().is_none_or(|name| name == b"message")
    }
}

/// An event passed the size limit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is too large")]
pub struct TooLarge;

/// The state between chunks.
#[derive(Debug)]
pub struct Parser {
    /// Begins with the first data line of the event under way, or where the line under way begins.
    buffer: BytesMut,
    /// Where the line under way begins.
    line: usize,
    /// How far the line under way has been searched for its end.
    searched: usize,
    /// The last line ended in a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    before_mark: bool,
    /// Where the data lines of the event under way stand.
    data: Vec<Range<usize>>,
    name: Option<Bytes>,
    /// The id of the event under way; it counts once the event is complete.
    id: Option<Bytes>,
    last_id: Option<Bytes>,
    retry: Option<Duration>,
    limit: usize,
    /// What is passed over of an event that was too large.
    excess: Excess,
}

/// How much of an event that was too large has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Excess {
    /// There is no such event.
    None,
    /// All of it; it stands at the beginning of the buffer.
    Whole,
    /// Up to the end of this line, which is too much already; further lines may belong to it.
    Line(usize),
    /// A part; what comes up to the next blank line belongs to it.
    Skipping,
}

impl Parser {
    /// Begins a stream whose events may take `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            line: 0,
            searched: 0,
            after_return: false,
            before_mark: true,
            data: Vec::new(),
            name: None,
            id: None,
            last_id: None,
            retry: None,
            limit,
            excess: Excess::None,
        }
    }

    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// The id of the last complete event that bore one.
    pub fn last_id(&self) -> Option<&Bytes> {
        self.last_id.as_ref().filter(|id| !id.is_empty())
    }

    /// How long the server wants a client to wait before it connects again.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Notes a wait that the server asked for on an earlier stream.
    pub(crate) fn remember_retry(&mut self, retry: Duration) {
        self.retry = Some(retry);
    }

    /// The next complete event; `None` asks for more bytes.
    pub fn next_event(&mut self) -> Result<Option<Event>, TooLarge> {
        if !self.past_mark() {
            return Ok(None);
        }
        loop {
            self.pass_line_feed();
            let rest = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(length) = memchr::memchr2(b'\n', b'\r', rest) else {
                if self.excess == Excess::Skipping {
                    // One byte says that the line under way is not blank.
                    self.buffer.truncate(self.line + 1);
                }
                self.searched = self.buffer.len();
                return self.within_limit(self.buffer.len()).map(|()| None);
            };
            let end = self.searched + length;
            let line = self.line..end;
            self.within_limit(end)
                .inspect_err(|_| self.excess = Excess::Line(end))?;
            self.after_return = self.buffer[end] == b'\r';
            (self.line, self.searched) = (end + 1, end + 1);
            if self.excess == Excess::Skipping {
                if line.is_empty() {
                    self.excess = Excess::None;
                }
            } else if line.is_empty() {
                if let Some(event) = self.complete()? {
                    return Ok(Some(event));
                }
            } else {
                self.field(line);
            }
            if self.data.is_empty() {
                self.forget();
            }
        }
    }

    /// Passes over a byte order mark; false while it cannot be told whether there is one.
    fn past_mark(&mut self) -> bool {
        if self.before_mark {
            if self.buffer.len() < BYTE_ORDER_MARK.len()
                && BYTE_ORDER_MARK.starts_with(&self.buffer)
            {
                return false;
            }
            if self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.buffer.advance(BYTE_ORDER_MARK.len());
            }
            self.before_mark = false;
        }
        true
    }

    fn pass_line_feed(&mut self) {
        // Right after a line end nothing of the next line has been searched.
        if self.after_return && self.line < self.buffer.len() {
            self.after_return = false;
            if self.buffer[self.line] == b'\n' {
                self.line += 1;
                self.searched = self.line;
                if self.data.is_empty() {
                    self.forget();
                }
            }
        }
    }

    /// Lets go of what lies before the line under way.
    fn forget(&mut self) {
        self.buffer.advance(self.line);
        (self.line, self.searched) = (0, 0);
    }

    fn field(&mut self, line: Range<usize>) {
        let text = &self.buffer[line.clone()];
        let colon = memchr::memchr(b':', text).unwrap_or(text.len());
        let blank = usize::from(text.get(colon + 1) == Some(&b' '));
        let start = (colon + 1 + blank).min(text.len());
        let value = &text[start..];
        match &text[..colon] {
            b"data" => self.data.push(line.start + start..line.end),
            b"event" => self.name = (!value.is_empty()).then(|| Bytes::copy_from_slice(value)),
            b"id" if !value.contains(&0) && value.len() <= MAX_ID => {
                self.id = Some(Bytes::copy_from_slice(value));
            }
            b"retry" => {
                if let Some(wait) = milliseconds(value) {
                    self.retry = Some(wait);
                }
            }
            // A comment, or a field that is not defined.
            _ => (),
        }
    }

    /// A blank line has come.
    fn complete(&mut self) -> Result<Option<Event>, TooLarge> {
        let (id, name) = (self.id.take(), self.name.take());
        if !self.data.is_empty() {
            self.within_limit(self.line)
                .inspect_err(|_| self.excess = Excess::Whole)?;
        }
        if id.is_some() {
            self.last_id = id;
        }
        if self.data.is_empty() {
            return Ok(None);
        }
        let data = self.take_data();
        Ok((!data.is_empty()).then_some(Event { name, data }))
    }

    /// The data of the event that ends where the line under way begins.
    fn take_data(&mut self) -> Bytes {
        let event = self.buffer.split_to(self.line).freeze();
        (self.line, self.searched) = (0, 0);
        if event.len() > KEPT_SIZE {
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        let data = match &self.data[..] {
            [] => Bytes::new(),
            [one] => event.slice(one.clone()),
            many => joined(&event, many),
        };
        self.data.clear();
        self.data.shrink_to(16);
        data
    }

    /// After [`TooLarge`]: gives what was read of that event's data, and passes over the rest of it.
    pub(crate) fn skip(&mut self) -> Bytes {
        if self.excess == Excess::Whole {
            self.excess = Excess::None;
            return self.take_data();
        }
        if let Excess::Line(end) = self.excess {
            return self.skip_line(end);
        }
        self.excess = Excess::Skipping;
        let under_way = self.line..self.buffer.len();
        let first = self.buffer.get(self.line).copied();
        if first.is_some() {
            self.field(under_way);
        }
        (self.name, self.id) = (None, None);
        self.line = self.buffer.len();
        let data = self.take_data();
        self.buffer.extend(first);
        self.searched = self.buffer.len();
        data
    }

    /// Goes on after a line that ends at `end`; a blank one was the event's last.
    fn skip_line(&mut self, end: usize) -> Bytes {
        if end > self.line {
            self.excess = Excess::Skipping;
            self.field(self.line..end);
        } else {
            self.excess = Excess::None;
        }
        (self.name, self.id) = (None, None);
        self.after_return = self.buffer[end] == b'\r';
        self.line = end + 1;
        self.take_data()
    }

    /// Many empty data lines cost more than their bytes.
    fn within_limit(&self, bytes: usize) -> Result<(), TooLarge> {
        let lines = self.data.len().saturating_sub(1) * size_of::<Range<usize>>();
        if bytes + lines > self.limit {
            return Err(TooLarge);
        }
        Ok(())
    }
}

fn joined(event: &Bytes, lines: &[Range<usize>]) -> Bytes {
    let mut data = BytesMut::with_capacity(event.len());
    for (i, line) in lines.iter().enumerate() {
        if i > 0 {
            data.extend_from_slice(b"\n");
        }
        data.extend_from_slice(&event[line.clone()]);
    }
    data.freeze()
}

fn milliseconds(text: &[u8]) -> Option<Duration> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(Duration::from_millis(number))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Everything that can be seen of a stream which is read in the given pieces.
    #[derive(Debug, PartialEq, Eq)]
    struct Seen {
        events: Vec<(String, String)>,
        last_id: Option<String>,
        retry: Option<Duration>,
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn the_room_of_a_large_event_goes_with_it() {
        let mut parser = Parser::new(1 << 30);
        let large = format!("data: {}\n\ndata: ", "x".repeat(8 * KEPT_SIZE));
        for piece in large.as_bytes().chunks(1 << 14) {
            parser.feed(piece);
            let event = parser.next_event().expect("within the limit");
            assert!(event.is_none_or(|event| event.data.len() == 8 * KEPT_SIZE));
        }
        parser.feed(b"small\n\n");
        let event = parser.next_event().expect("within the limit");
        assert_eq!(event.expect("a whole one").data, "small");
        // What is taken in next finds no room that it could take up again.
        parser.feed(b"data: more");
        let room = parser.buffer.capacity();
        assert!(room < KEPT_SIZE, "{room}");
    }

    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Seen {
        let mut parser = Parser::new(1 << 20);
        let mut events = Vec::new();
        for piece in pieces {
            parser.feed(piece);
            while let Some(event) = parser.next_event().expect("small events") {
                let name = event.name.as_deref().map(text).unwrap_or_default();
                events.push((name, text(&event.data)));
            }
        }
        Seen {
            events,
            last_id: parser.last_id().map(|id| text(id)),
            retry: parser.retry(),
        }
    }

    #[track_caller]
    fn check(stream: &str, events: &[&str]) {
        for size in [1, 2, 3, 7, 1000] {
            let seen = read(stream.as_bytes().chunks(size));
            let data: Vec<&str> = seen.events.iter().map(|(_, data)| data.as_str()).collect();
            assert_eq!(data, events, "{stream:?} in pieces of {size}");
        }
    }

    #[test]
    fn any_line_end_ends_a_line() {
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check("data: a\r\rdata: b\r\r", &["a", "b"]);
        check("data: a\r\n\ndata: b\r\r\n\ndata: c\n\r", &["a", "b", "c"]);
    }

    #[test]
    fn data_is_what_follows_the_colon_and_one_blank() {
        check("data:a\n\n", &["a"]);
        check("data:  a \n\n", &[" a "]);
        check("data: {\"a\": \"b:c\"}\n\n", &["{\"a\": \"b:c\"}"]);
        check("data: a\ndata\ndata: b\n\n", &["a\n\nb"]);
        check(
            "data: a\n: between\nid: 4\ndata: \u{e9}\u{1f600}\n\n",
            &["a\n\u{e9}\u{1f600}"],
        );
    }

    #[test]
    fn what_is_no_data_is_no_event() {
        check("\n\n: hello\n\nid: 1\n\nevent: ping\n\n", &[]);
        check("data:\n\ndata\n\nid: 1\ndata: \n\n", &[]);
        check("Data: a\ndat: b\ndata : c\n\n", &[]);
        check("data: the end is missing\n", &[]);
        check("data: a\n\nfoo", &["a"]);
    }

    #[test]
    fn a_byte_order_mark_counts_at_the_start_only() {
        check("\u{feff}data: a\n\n", &["a"]);
        check("data: a\n\n\u{feff}data: b\n\n", &["a"]);
        check("\u{feff}\u{feff}data: a\n\n", &[]);
    }

    #[test]
    fn ids_and_retry_are_remembered() {
        let check = |stream: &str, id: Option<&str>, retry: Option<u64>| {
            let seen = read([stream.as_bytes()]);
            assert_eq!(seen.last_id.as_deref(), id, "{stream:?}");
            assert_eq!(seen.retry, retry.map(Duration::from_millis), "{stream:?}");
        };
        check("id: 1\nretry: 20\ndata:\n\n", Some("1"), Some(20));
        check("id: 1\n\n", Some("1"), None);
        check("id: 1\n\nid: 2\ndata: cut", Some("1"), None);
        check("id: 1\n\ndata: a\n\n", Some("1"), None);
        check("id: 1\n\nid\n\n", None, None);
        check("id: 1\n\nid: a\0b\n\n", Some("1"), None);
        check("retry: 2s\n", None, None);
        check("retry: -1\n", None, None);
        check("retry: 5\nretry: 99999999999999999999\n", None, Some(5));
    }

    #[test]
    fn the_name_belongs_to_its_event() {
        let seen = read([&b"event: endpoint\ndata: /x\n\ndata: a\n\nevent: b\n\ndata: c\n\n"[..]]);
        let expected = [("endpoint", "/x"), ("", "a"), ("", "c")];
        assert_eq!(
            seen.events,
            expected.map(|(name, data)| (name.to_owned(), data.to_owned()))
        );
    }

    #[test]
    fn an_empty_name_is_none() {
        let mut parser = Parser::new(1000);
        parser.feed(b"event: x\nevent:\ndata: a\n\n");
        let event = parser.next_event().expect("small").expect("an event");
        assert!(event.is_message());
    }

    #[test]
    fn one_line_of_data_is_not_copied_again() {
        let mut parser = Parser::new(1000);
        parser.feed(b"data: abc\n\n");
        let at = parser.buffer.as_ptr() as usize;
        let event = parser.next_event().expect("small").expect("an event");
        assert_eq!(event.data.as_ptr() as usize, at + "data: ".len());
    }

    #[test]
    fn the_limit_holds_in_pieces_and_in_whole() {
        let fits = format!("data: {}\n\n", "x".repeat(92));
        let large = format!("data: {}\n\n", "x".repeat(93));
        let comment = format!(": {}\ndata: a\n\n", "x".repeat(99));
        let many = format!("{}\n", "data\n".repeat(8));
        for size in [1, 10, 1000] {
            for (stream, expected) in [
                (&fits, true),
                (&large, false),
                (&comment, false),
                (&many, false),
            ] {
                let mut parser = Parser::new(100);
                let mut outcome = Ok(None);
                for piece in stream.as_bytes().chunks(size) {
                    parser.feed(piece);
                    outcome = parser.next_event();
                    if outcome != Ok(None) {
                        break;
                    }
                }
                assert_eq!(matches!(outcome, Ok(Some(_))), expected, "pieces of {size}");
                assert_eq!(outcome == Err(TooLarge), !expected, "pieces of {size}");
            }
        }
    }

    #[test]
    fn what_is_too_large_is_passed_over_and_the_rest_read() {
        let large = format!("id: 7\nevent: x\ndata: {{\"id\":7,{}", "x".repeat(300));
        let streams = [
            format!("data: a\n\n{large}\n\ndata: b\n\n"),
            format!("data: a\n\n{large}\r\n\r\n: c\ndata: b\n\n"),
            format!("data: a\r\r{large}\rdata: more\r\rdata: b\r\r"),
            format!("data: a\n\n{large}\n: more\nid: 8\n\ndata: b\n\n"),
        ];
        for stream in &streams {
            for size in [1, 7, 99, 1000] {
                let mut parser = Parser::new(100);
                let mut seen = Vec::new();
                for piece in stream.as_bytes().chunks(size) {
                    parser.feed(piece);
                    loop {
                        match parser.next_event() {
                            Ok(Some(event)) => seen.push(text(&event.data)),
                            Ok(None) => break,
                            Err(TooLarge) => {
                                let beginning = text(&parser.skip());
                                assert!(beginning.starts_with("{\"id\":7,xxx"), "{beginning}");
                                seen.push("too large".to_owned());
                            }
                        }
                    }
                    assert!(parser.buffer.len() <= 100 + size);
                }
                assert_eq!(
                    seen,
                    ["a", "too large", "b"],
                    "{stream:?} in pieces of {size}"
                );
                assert_eq!(parser.last_id(), None);
            }
        }
    }

    #[test]
    fn comments_never_add_up_to_the_limit() {
        let mut parser = Parser::new(100);
        for _ in 0..1000 {
            parser.feed(b": still here\r\nid: 7\r\n");
            assert_eq!(parser.next_event(), Ok(None));
        }
        assert!(parser.buffer.len() < 10);
    }

    proptest! {
        #[test]
        fn the_same_events_come_however_the_stream_is_cut(
            lines in prop::collection::vec(
                prop_oneof![
                    Just(String::new()),
                    Just("\u{feff}".to_owned()),
                    Just("data".to_owned()),
                    "data: ?[a-z:{}\" é😀]{0,12}",
                    "id: ?[0-9]{0,3}",
                    "event: [a-z]{1,4}",
                    "retry: [0-9a]{1,3}",
                    ": ?[a-z]{0,4}",
                    "[a-z:]{0,6}",
                ],
                0..24,
            ),
            ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n", "\r"]), 24),
            cuts in prop::collection::vec(0_usize..400, 0..12),
        ) {
            let stream: String = lines.iter().zip(&ends).flat_map(|(l, e)| [l.as_str(), e]).collect();
            let stream = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|w| &stream[w[0]..w[1]]);
            prop_assert_eq!(read(pieces), read([stream]));
        }

        #[test]
        fn no_bytes_upset_the_parser(stream in prop::collection::vec(any::<u8>(), 0..300), size in 1_usize..40) {
            let mut parser = Parser::new(64);
            for piece in stream.chunks(size) {
                parser.feed(piece);
                while let Ok(Some(_)) = parser.next_event() {}
            }
        }
    }
}
