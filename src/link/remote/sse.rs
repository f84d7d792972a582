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
    /// Bytes of lines that belong to no event with data.
    passed_over: usize,
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
            passed_over: 0,
        }
    }

    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// How many bytes were passed over since this was last taken: comments, blank lines, events without data.
    pub(crate) fn take_passed_over(&mut self) -> usize {
        std::mem::take(&mut self.passed_over)
    }

    /// The id of the last complete event that bore one.
    pub fn last_id(&self) -> Option<&Bytes> {
        self.last_id.as_ref().filter(|id| !id.is_empty())
    }

    /// How long the server wants a client to wait before it connects again.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Notes the wait of an earlier stream's `retry` field.
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
                self.passed_over = self.passed_over.saturating_add(self.line);
                self.forget();
            }
        }
    }

    /// Passes over a byte order mark; false while more bytes have to come to know whether there is one.
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
mod tests;
