//! Messages as lines: what the pipes of clients and servers and the local socket carry (transports, "stdio"). Cuts a stream into
//! lines and writes frames as lines; what they say is others' business.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::mpsc,
};

use crate::wire::{Id, IdFinder};

/// How much room there is for what is read, at most and at least. Most reads bring little; new room for each would cost more than
/// the reading.
const READ_SIZE: usize = 64 << 10;
const MIN_READ_SIZE: usize = 16 << 10;

/// The room that a longer line took is let go with it: it would be kept for as long as the stream lasts.
const KEPT_SIZE: usize = 256 << 10;

/// Frames are put together into one write up to this size.
const WRITE_SIZE: usize = 64 << 10;

/// Frames taken at once from those that wait.
const WRITE_FRAMES: usize = 64;

/// What some programs write before the first text of a stream, or of each write.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Its text, without the blanks around it and a byte order mark before it. Never empty.
    Text(Bytes),
    /// It was larger than the limit and is gone. The id of the message, if it had one.
    TooLarge(Option<Id>),
}

/// The lines of a stream.
pub struct Lines<R> {
    input: R,
    limit: usize,
    buffer: BytesMut,
    /// So much of the buffer holds no line end.
    seen: usize,
    /// A line that has become too large goes by; only its id is looked for.
    oversized: Option<IdFinder>,
    /// Bytes of it so far.
    passed: usize,
    /// So many of them are borne.
    most: usize,
    /// The stream has ended.
    over: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads lines of up to `limit` bytes.
    pub fn new(input: R, limit: usize) -> Self {
        Self {
            input,
            limit,
            buffer: BytesMut::new(),
            seen: 0,
            oversized: None,
            passed: 0,
            most: usize::MAX,
            over: false,
        }
    }

    /// Gives up at a line that has become too large and so long without an end.
    pub fn bear(&mut self, most: usize) {
        self.most = most;
    }

    /// How long the line is so far at which it has given up.
    pub fn endless(&self) -> Option<usize> {
        (self.passed > self.most).then_some(self.passed)
    }

    /// Whether the stream has ended, so that the line read last had no line end: it may have been torn off.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The next line that is not blank; `None` at the end, where the last line needs no line end. Cancel-safe.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.complete() {
                return Ok(Some(line));
            }
            if self.endless().is_some() {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if self.buffer.capacity() - self.buffer.len() < MIN_READ_SIZE {
                self.buffer.reserve(READ_SIZE);
            }
            if self.input.read_buf(&mut self.buffer).await? == 0 {
                self.over = true;
                return Ok(self.rest());
            }
        }
    }

    /// A line that is there already.
    fn complete(&mut self) -> Option<Line> {
        while let Some(at) = memchr::memchr(b'\n', &self.buffer[self.seen..]) {
            let line = self.buffer.split_to(self.seen + at + 1);
            self.seen = 0;
            if line.len() > KEPT_SIZE {
                self.buffer = BytesMut::from(&self.buffer[..]);
            }
            if let Some(line) = self.line(line) {
                return Some(line);
            }
        }
        self.seen = self.buffer.len();
        if self.oversized.is_some() || self.buffer.len() > self.limit {
            let finder = self.oversized.get_or_insert_default();
            finder.feed(&self.buffer);
            self.passed += self.buffer.len();
            (self.buffer, self.seen) = (BytesMut::new(), 0);
        }
        None
    }

    fn rest(&mut self) -> Option<Line> {
        self.seen = 0;
        let rest = self.buffer.split();
        self.line(rest)
    }

    fn line(&mut self, mut line: BytesMut) -> Option<Line> {
        if let Some(mut finder) = self.oversized.take() {
            finder.feed(&line);
            self.passed = 0;
            return Some(Line::TooLarge(finder.finish()));
        }
        line.truncate(line.trim_ascii_end().len());
        let text = line.trim_ascii_start();
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let passed_over = line.len() - text.len();
        line.advance(passed_over);
        if line.len() > self.limit {
            let mut finder = IdFinder::default();
            finder.feed(&line);
            return Some(Line::TooLarge(finder.finish()));
        }
        (!line.is_empty()).then(|| Line::Text(line.freeze()))
    }
}

/// Writes each frame as one line, until no more can come. Frames that wait go out together.
pub async fn write(
    mut frames: mpsc::Receiver<Bytes>,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let (mut waiting, mut batch) = (Vec::with_capacity(WRITE_FRAMES), Vec::new());
    while frames.recv_many(&mut waiting, WRITE_FRAMES).await > 0 {
        for frame in waiting.drain(..) {
            append(&frame, &mut batch);
            if batch.len() >= WRITE_SIZE {
                output.write_all(&batch).await?;
                batch.clear();
            }
        }
        output.write_all(&batch).await?;
        output.flush().await?;
        batch.clear();
        // The memory of a large frame goes with it.
        batch.shrink_to(2 * WRITE_SIZE);
    }
    Ok(())
}

/// Appends a frame as one line.
pub fn append(frame: &[u8], batch: &mut Vec<u8>) {
    batch.reserve(frame.len() + 1);
    append_piece(frame, batch);
    batch.push(b'\n');
}

/// Appends a piece of a frame to its line. Line breaks in valid JSON stand between tokens only, so a blank says the same.
pub fn append_piece(piece: &[u8], batch: &mut Vec<u8>) {
    let from = batch.len();
    batch.extend_from_slice(piece);
    if memchr::memchr2(b'\n', b'\r', piece).is_some() {
        for byte in &mut batch[from..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::Pin,
        task::{Context, Poll},
    };

    use tokio::io::ReadBuf;

    use super::*;

    /// Gives its bytes in pieces of a fixed size.
    struct Pieces<'a>(&'a [u8], usize);

    impl AsyncRead for Pieces<'_> {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let size = self.1.min(self.0.len()).min(buffer.remaining());
            let (piece, rest) = self.0.split_at(size);
            buffer.put_slice(piece);
            self.0 = rest;
            Poll::Ready(Ok(()))
        }
    }

    async fn check(input: &str, expected: &[&str]) {
        for piece in [1, 3, 1000] {
            let mut lines = Lines::new(Pieces(input.as_bytes(), piece), 16);
            let mut found = Vec::new();
            while let Some(line) = lines.next().await.expect("memory can be read") {
                found.push(match line {
                    Line::Text(text) => String::from_utf8(text.to_vec()).expect("text"),
                    Line::TooLarge(id) => format!("too large: {id:?}"),
                });
            }
            assert_eq!(found, expected, "in pieces of {piece}");
        }
    }

    #[tokio::test]
    async fn lines_come_out_however_the_bytes_come_in() {
        check("{\"a\":1}\n[2]\r\n\n  \n x ", &["{\"a\":1}", "[2]", "x"]).await;
        check("", &[]).await;
        check("\n\n", &[]).await;
        check("\u{feff}{}\n \u{feff}[]\r\n\u{feff}\n", &["{}", "[]"]).await;
        check("0123456789abcdef\ny", &["0123456789abcdef", "y"]).await;
    }

    #[tokio::test]
    async fn a_line_that_is_too_large_goes_by_and_leaves_its_id() {
        check(
            "{\"id\":7,\"x\":\"0123456789\"}\n{}\n",
            &["too large: Some(Id(7))", "{}"],
        )
        .await;
        check(
            "0123456789abcdefg\nz\n0123456789abcdefgh",
            &["too large: None", "z", "too large: None"],
        )
        .await;
    }

    #[tokio::test]
    async fn a_line_that_does_not_end_is_given_up() {
        let input = "x".repeat(40) + "\n{}\n" + &"x".repeat(60);
        let mut lines = Lines::new(Pieces(input.as_bytes(), 1), 16);
        lines.bear(50);
        let mut next = async || lines.next().await.map_err(|error| error.kind());
        assert_eq!(next().await, Ok(Some(Line::TooLarge(None))));
        assert_eq!(next().await, Ok(Some(Line::Text("{}".into()))));
        for _ in 0..2 {
            assert_eq!(next().await, Err(io::ErrorKind::InvalidData));
        }
        assert!(lines.endless().is_some_and(|bytes| bytes <= 51));
    }

    #[tokio::test]
    async fn the_room_of_a_long_line_goes_with_it() {
        let long = vec![b'x'; 8 * KEPT_SIZE];
        let input = [&long[..], b"\n{}\n", &long[..], b"\n[]"].concat();
        let mut lines = Lines::new(Pieces(&input, READ_SIZE), input.len());
        for expected in [&long[..], b"{}", &long[..], b"[]"] {
            let line = lines.next().await.expect("memory can be read");
            assert_eq!(line, Some(Line::Text(Bytes::copy_from_slice(expected))));
            drop(line);
            if expected.len() < KEPT_SIZE {
                lines.buffer.reserve(MIN_READ_SIZE);
                assert!(
                    lines.buffer.capacity() <= KEPT_SIZE,
                    "{}",
                    lines.buffer.capacity()
                );
            }
        }
        assert_eq!(lines.next().await.expect("memory can be read"), None);
    }

    #[tokio::test]
    async fn frames_are_one_line_each() {
        let (sender, frames) = mpsc::channel(8);
        for frame in ["{}", "{\n \"a\":\r\n1}", ""] {
            sender
                .send(Bytes::from(frame))
                .await
                .expect("there is room");
        }
        drop(sender);
        let mut written = Vec::new();
        write(frames, &mut written)
            .await
            .expect("memory can be written");
        assert_eq!(
            String::from_utf8(written).expect("text"),
            "{}\n{  \"a\":  1}\n\n"
        );
    }
}
