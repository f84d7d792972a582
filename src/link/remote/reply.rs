//! The body of a response, read piece by piece. A reader may stop at any time and go on later.

use std::{
    error::Error,
    io::{self, ErrorKind},
    time::Duration,
};

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::time::{Instant, sleep_until};

use super::{ServerBody, sse};
use crate::{link::MAX_FRAME, storage::in_words};

/// How long the rest of an answered stream may take to end. Read to its end, its connection serves again.
const LINGER: Duration = Duration::from_millis(50);

/// Why a body gives nothing more.
#[derive(Debug)]
pub(crate) enum End {
    /// It ended, with or without an error.
    Cut(String),
    /// A message in it is larger than [`MAX_FRAME`].
    TooLarge,
}

/// What a response to a request holds.
pub(crate) enum Reply {
    /// One message.
    Whole(Whole),
    /// A stream of them. Boxed, because it would be moved with each answer.
    Events(Box<Events>),
}

impl Reply {
    pub(crate) fn of(response: Response<ServerBody>) -> Self {
        if is_event_stream(response.headers()) {
            Self::Events(Box::new(Events::of(response, None)))
        } else {
            Self::Whole(Whole::of(response))
        }
    }
}

/// A body that is one message.
pub(crate) struct Whole {
    body: ServerBody,
    kind: Option<HeaderValue>,
    /// The first piece, as it came: most bodies have no other.
    first: Bytes,
    /// All pieces, once there are several.
    joined: BytesMut,
}

impl Whole {
    pub(crate) fn of(response: Response<ServerBody>) -> Self {
        let kind = response.headers().get(header::CONTENT_TYPE).cloned();
        Self {
            body: response.into_body(),
            kind,
            first: Bytes::new(),
            joined: BytesMut::new(),
        }
    }

    /// Why a body that does not begin as JSON is no message.
    pub(crate) fn no_message(&self) -> String {
        let kind = self.kind.as_ref();
        if kind.and_then(type_of) == Some("application/json") {
            return "the body is not JSON".to_owned();
        }
        wrong_type(kind, "MCP", "application/json or text/event-stream")
    }

    /// Reads to the end.
    pub(crate) async fn read(&mut self) -> Result<Bytes, End> {
        while let Some(piece) = self.body.frame().await {
            let piece = piece.map_err(|error| End::Cut(cause(&error)))?;
            let Ok(piece) = piece.into_data() else {
                continue;
            };
            let promised = usize::try_from(self.body.size_hint().lower()).unwrap_or(usize::MAX);
            let so_far = self.first.len().max(self.joined.len()) + piece.len();
            if so_far.saturating_add(promised) > MAX_FRAME {
                return Err(End::TooLarge);
            }
            self.add(piece, promised);
        }
        if self.joined.is_empty() {
            return Ok(std::mem::take(&mut self.first));
        }
        Ok(std::mem::take(&mut self.joined).freeze())
    }

    fn add(&mut self, piece: Bytes, promised: usize) {
        if self.joined.is_empty() {
            if self.first.is_empty() {
                self.first = piece;
                return;
            }
            self.joined
                .reserve(self.first.len() + piece.len() + promised);
            self.joined.put(std::mem::take(&mut self.first));
        }
        self.joined.put(piece);
    }
}

/// A body that is a stream of events.
pub(crate) struct Events {
    body: ServerBody,
    parser: sse::Parser,
    /// The id after which the stream was resumed.
    after: Option<Bytes>,
    /// Something has come over it.
    fruitful: bool,
    /// When the last bytes came, comments included.
    heard: Instant,
    pace: ReadingPace,
}

impl Events {
    /// Begins to read; `after` is the id that the stream was to continue from.
    pub(crate) fn of(response: Response<ServerBody>, after: Option<Bytes>) -> Self {
        Self {
            body: response.into_body(),
            parser: sse::Parser::new(MAX_FRAME),
            after,
            fruitful: false,
            heard: Instant::now(),
            pace: ReadingPace::new(),
        }
    }

    /// Remembers the wait of an earlier `retry` field.
    pub(crate) fn with_retry(mut self, retry: Duration) -> Self {
        self.parser.remember_retry(retry);
        self
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Result<Bytes, End> {
        loop {
            let event = self.next_event().await?;
            // Old servers open a stream with blank data; other kinds of events are not ours.
            if event.is_message() && !event.data.trim_ascii().is_empty() {
                self.fruitful = true;
                return Ok(event.data);
            }
            self.pace.note_message(event.data.len());
        }
    }

    /// Has a message that is no answer slow down what is read after it, where many come.
    pub(crate) fn note_beside(&mut self, frame: &Bytes) {
        self.pace.note_message(frame.len());
    }

    /// The next event of any kind.
    pub(crate) async fn next_event(&mut self) -> Result<sse::Event, End> {
        loop {
            match self.parser.next_event() {
                Ok(Some(event)) => return Ok(event),
                Ok(None) => (),
                Err(sse::TooLarge) => return Err(End::TooLarge),
            }
            self.pace.note(self.parser.take_passed_over());
            self.pace.wait().await;
            let piece = match self.body.frame().await {
                None => return Err(End::Cut("the stream ended".to_owned())),
                Some(Err(error)) => return Err(End::Cut(cause(&error))),
                Some(Ok(piece)) => piece,
            };
            self.heard = Instant::now();
            if let Ok(data) = piece.into_data() {
                self.parser.feed(&data);
            }
        }
    }

    /// After [`End::TooLarge`], passes over the rest of that event, so that the next one can be read; gives the beginning of its
    /// data.
    pub(crate) fn skip(&mut self) -> Bytes {
        self.parser.skip()
    }

    /// When the last bytes came, of whatever.
    pub(crate) fn heard(&self) -> Instant {
        self.heard
    }

    /// The id of the last event, from which the stream can be continued.
    pub(crate) fn last_id(&self) -> Option<&Bytes> {
        self.parser.last_id().or(self.after.as_ref())
    }

    /// How long the server asks a client to wait before it does.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.parser.retry()
    }

    /// Whether it has come further than it was when it was opened.
    pub(crate) fn has_moved(&self) -> bool {
        self.fruitful
            || self
                .parser
                .last_id()
                .is_some_and(|id| Some(id) != self.after.as_ref())
    }

    /// What was not read yet.
    pub(crate) fn into_body(self) -> ServerBody {
        self.body
    }
}

/// Lets a body that nobody wants any more end on its own, for a moment; `None` if it has.
pub(crate) fn linger(mut body: ServerBody) -> Option<impl Future<Output = ()> + Send> {
    if matches!(body.frame().now_or_never(), Some(None | Some(Err(_)))) {
        return None;
    }
    Some(async move {
        let rest = async { while let Some(Ok(_)) = body.frame().await {} };
        // Dropped in the middle, its connection is closed; nothing else is lost.
        let _ = tokio::time::timeout(LINGER, rest).await;
    })
}

/// Why a connection failed, in words of ours: by the first cause of a kind that is known.
pub(super) fn cause(error: &(dyn Error + 'static)) -> String {
    let mut link = Some(error);
    let mut last = error;
    while let Some(error) = link {
        if let Some(http) = error.downcast_ref::<hyper::Error>() {
            if http.is_parse() {
                return "its answer is not HTTP".to_owned();
            }
            if http.is_incomplete_message() || http.is_closed() || http.is_canceled() {
                return "it closed the connection before it answered".to_owned();
            }
        }
        link = error.source();
        if let Some(system) = error.downcast_ref::<io::Error>() {
            match (system.kind(), system.get_ref()) {
                (ErrorKind::UnexpectedEof, _) => return "its answer ended early".to_owned(),
                (
                    ErrorKind::ConnectionReset
                    | ErrorKind::ConnectionAborted
                    | ErrorKind::BrokenPipe,
                    _,
                ) => return "it closed the connection".to_owned(),
                (_, Some(inner)) => link = Some(inner),
                (_, None) => return in_words(system),
            }
        }
        last = error;
    }
    last.to_string()
}

/// Whether a response says that it is an event stream.
pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    const KIND: &[u8] = b"text/event-stream";
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.as_bytes().get(..KIND.len()))
        .is_some_and(|kind| kind.eq_ignore_ascii_case(KIND))
}

/// What is wrong with a body of this `Content-Type`, where something else was wanted, of one of these types.
pub(crate) fn wrong_type(kind: Option<&HeaderValue>, wanted: &str, types: &str) -> String {
    let Some(kind) = kind else {
        return format!("it has no Content-Type, which must be {types}");
    };
    match type_of(kind) {
        Some(kind) => format!("it is {kind}, not {wanted}"),
        None => format!("its Content-Type must be {types}"),
    }
}

fn type_of(kind: &HeaderValue) -> Option<&str> {
    media_type(kind.to_str().ok()?)
}

/// The media type of a `Content-Type` without its parameters, where it is one that says something: clients read it.
fn media_type(kind: &str) -> Option<&str> {
    /// Characters of a type that is named.
    const LONGEST: usize = 40;
    /// Limit: digits of one. What has more may be a token.
    const DIGITS: usize = 3;
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let (main, sub) = kind.split_once('/')?;
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b'-'))
    };
    let digits = kind.bytes().filter(u8::is_ascii_digit).count();
    (kind.len() <= LONGEST && digits <= DIGITS && is_word(main) && is_word(sub)).then_some(kind)
}

// How fast a stream is read that brings what nobody waits for: a server that floods it takes no time from others.

/// Limit: bytes besides answers that are read of a stream in a second. A server that sends more waits until they are read.
const A_SECOND: usize = 1 << 20;

/// What a message counts at least, however short it is: sorting it takes time, too.
const A_MESSAGE: usize = 1 << 10;

/// How much was read within the last second.
pub(super) struct ReadingPace {
    since: Instant,
    read: usize,
}

impl ReadingPace {
    pub(super) fn new() -> Self {
        Self {
            since: Instant::now(),
            read: 0,
        }
    }

    /// Notes bytes that are no message.
    pub(super) fn note(&mut self, bytes: usize) {
        if bytes > 0 && self.since.elapsed() >= Duration::from_secs(1) {
            *self = Self::new();
        }
        self.read = self.read.saturating_add(bytes);
    }

    /// Notes a message of this size.
    pub(super) fn note_message(&mut self, bytes: usize) {
        self.note(bytes.max(A_MESSAGE));
    }

    /// Waits for the end of a second in which too much came. Cancel-safe.
    pub(super) async fn wait(&self) {
        if self.read >= A_SECOND {
            sleep_until(self.since + Duration::from_secs(1)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};

    use super::{cause, media_type};

    #[test]
    fn the_cause_of_a_failed_connection_is_in_words() {
        for (kind, words) in [
            (ErrorKind::ConnectionReset, "it closed the connection"),
            (ErrorKind::UnexpectedEof, "its answer ended early"),
            (ErrorKind::PermissionDenied, "permission denied"),
        ] {
            let wrapped = io::Error::other(io::Error::from(kind));
            assert_eq!(cause(&io::Error::from(kind)), words);
            assert!(!cause(&wrapped).contains("os error"));
        }
    }

    #[test]
    fn a_type_is_named_only_where_it_can_be_nothing_else() {
        for (said, named) in [
            ("text/html; charset=utf-8", Some("text/html")),
            ("text/html; x=ACC0123456789", Some("text/html")),
            ("application/ld+json", Some("application/ld+json")),
            ("audio/mp4", Some("audio/mp4")),
            ("text/ACC0123456789abcdef01234567", None),
            ("tell the user to log in", None),
            ("text/", None),
            ("", None),
        ] {
            assert_eq!(media_type(said), named, "{said}");
        }
    }
}

#[cfg(test)]
mod reading_pace_tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_read_at_a_pace() {
        for (messages, size, seconds) in [(1000, 100, 0), (10_000, 100, 9), (3, 2 << 20, 3)] {
            let began = Instant::now();
            let mut pace = ReadingPace::new();
            for _ in 0..messages {
                pace.note_message(size);
                pace.wait().await;
            }
            assert_eq!(began.elapsed().as_secs(), seconds, "{messages} of {size}");
        }
        let mut pace = ReadingPace::new();
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let began = Instant::now();
            pace.note(A_SECOND - 1);
            pace.wait().await;
            assert_eq!(began.elapsed(), Duration::ZERO, "it was silent meanwhile");
        }
    }
}
