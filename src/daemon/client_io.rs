//! Reads from and writes to one client's connection. A client that does not read its answers is dropped, because they are held in memory.
//! A client that was answered before it had sent its whole request is read to its end: closing earlier would reset the connection, and
//! the answer would be lost. The head of a request has to arrive in time.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

use super::connections::RequestPauses;
use crate::runtime::memory_budget::MemoryBudget;

/// How long a client may leave its answers unread.
const UNREAD_TIMEOUT: Duration = Duration::from_mins(1);

/// The same while the memory budget is spent, and how often this is checked.
const UNREAD_TIMEOUT_IN_NEED: Duration = Duration::from_secs(5);

/// A client that reads so many bytes in that time counts as reading.
const PROGRESS: usize = 64 << 10;

/// How long the head of a request may take, from its first byte.
const HEAD_DEADLINE: Duration = Duration::from_secs(30);

/// How long the input of a client is read that was answered before it had sent everything.
const HEARING: Duration = Duration::from_secs(30);

/// How long such a client may send nothing.
const HEARING_SILENCE: Duration = Duration::from_secs(5);

/// Limit: bytes that are read from such a client.
const HEARD: usize = 256 << 20;

/// Whether the last answer on a connection came before all of its request. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct AnsweredEarly(Arc<AtomicBool>);

impl AnsweredEarly {
    /// It did: nothing else is answered on this connection.
    pub(super) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The end of a connection whose client still sends.
struct DrainedConnection {
    until: Instant,
    bytes: usize,
    silence: Pin<Box<Sleep>>,
}

impl DrainedConnection {
    fn new() -> Self {
        Self {
            until: Instant::now() + HEARING,
            bytes: 0,
            silence: Box::pin(tokio::time::sleep(HEARING_SILENCE)),
        }
    }

    /// Ready when the client has sent everything, or for too long.
    fn poll(&mut self, io: &mut (impl AsyncRead + Unpin), cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.bytes > HEARD || self.silence.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            let mut space = [0; 8 << 10];
            let mut buffer = ReadBuf::new(&mut space);
            let read = ready!(Pin::new(&mut *io).poll_read(cx, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(());
            }
            self.bytes += buffer.filled().len();
            let next = Instant::now() + HEARING_SILENCE;
            self.silence.as_mut().reset(next.min(self.until));
        }
    }
}

/// A connection.
pub(super) struct ClientIo<Io> {
    io: Io,
    answered_early: AnsweredEarly,
    hearing: Option<DrainedConnection>,
    /// The budget for answers that wait for the client; absent if it may leave them unread.
    memory: Option<MemoryBudget>,
    stall: Option<Stall>,
    /// When no request is under way; absent where heads may take as long as they like.
    pauses: Option<RequestPauses>,
    head: Option<BegunHead>,
}

/// The head of a request, of which the client has sent a part.
struct BegunHead {
    pause: u64,
    since: Instant,
    /// Set when the rest does not come at once.
    late: Option<Pin<Box<Sleep>>>,
}

impl BegunHead {
    fn new(pause: u64) -> Self {
        Self {
            pause,
            since: Instant::now(),
            late: None,
        }
    }

    /// Whether it takes too long; if not, the task is woken when it does.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let deadline = self.since + HEAD_DEADLINE;
        let sleep = || Box::pin(tokio::time::sleep_until(deadline));
        let late = self.late.get_or_insert_with(sleep);
        late.as_mut().poll(cx).is_ready()
    }
}

/// The client did not read everything at once.
struct Stall {
    since: Instant,
    /// What it has read since.
    written: usize,
    next_look: Pin<Box<Sleep>>,
}

impl Stall {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            written: 0,
            next_look: Box::pin(tokio::time::sleep(UNREAD_TIMEOUT_IN_NEED)),
        }
    }

    /// Whether it has lasted too long; if not, the task is woken to look again.
    fn is_over(&mut self, memory: &MemoryBudget, cx: &mut Context<'_>) -> bool {
        while self.next_look.as_mut().poll(cx).is_ready() {
            if memory.is_spent() || self.since.elapsed() >= UNREAD_TIMEOUT {
                return true;
            }
            let next = Instant::now() + UNREAD_TIMEOUT_IN_NEED;
            self.next_look.as_mut().reset(next);
        }
        false
    }
}

impl<Io> ClientIo<Io> {
    pub(super) fn new(io: Io, memory: Option<MemoryBudget>, answered_early: AnsweredEarly) -> Self {
        Self {
            io,
            answered_early,
            hearing: None,
            memory,
            stall: None,
            pauses: None,
            head: None,
        }
    }

    /// The same, where the head of a request that begins in one of these pauses has to come in time.
    pub(super) fn with_head_deadline(self, pauses: RequestPauses) -> Self {
        Self {
            pauses: Some(pauses),
            ..self
        }
    }

    /// Notes how much was read; where nothing was, says whether the head under way takes too long.
    fn head_is_late(&mut self, read: usize, cx: &mut Context<'_>) -> bool {
        let pause = self.pauses.as_ref().and_then(RequestPauses::current);
        if self.head.as_ref().map(|head| head.pause) != pause {
            self.head = pause.filter(|_| read > 0).map(BegunHead::new);
        }
        read == 0 && self.head.as_mut().is_some_and(|head| head.is_late(cx))
    }

    fn wrote(
        &mut self,
        wrote: Poll<io::Result<usize>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match &wrote {
            Poll::Ready(Ok(bytes)) => {
                if let Some(stall) = &mut self.stall {
                    stall.written += bytes;
                    if stall.written >= PROGRESS {
                        self.stall = None;
                    }
                }
            }
            Poll::Ready(Err(_)) => (),
            Poll::Pending => {
                let Some(memory) = &self.memory else {
                    return wrote;
                };
                let stall = self.stall.get_or_insert_with(Stall::new);
                if stall.is_over(memory, cx) {
                    tracing::info!("client disconnected: it does not read its answers");
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
        }
        wrote
    }
}

impl<Io: AsyncRead + Unpin> AsyncRead for ClientIo<Io> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        let read = Pin::new(&mut self.io).poll_read(cx, buffer);
        if self.head_is_late(buffer.filled().len() - filled, cx) {
            tracing::debug!("client dropped: the head of its request took too long");
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl<Io: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ClientIo<Io> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.wrote(wrote, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.io).poll_write_vectored(cx, parts);
        self.wrote(wrote, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    /// Reached when everything is written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stall = None;
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self {
            io,
            answered_early,
            hearing,
            ..
        } = &mut *self;
        if hearing.is_none() {
            ready!(Pin::new(&mut *io).poll_shutdown(cx))?;
            if !answered_early.is_noted() {
                return Poll::Ready(Ok(()));
            }
        }
        let hearing = hearing.get_or_insert_with(DrainedConnection::new);
        hearing.poll(io, cx).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{access::Peer, daemon::connections::ClientConnections};

    /// A client that has room for a little, and its other end.
    fn client(memory: &MemoryBudget) -> (ClientIo<DuplexStream>, DuplexStream) {
        let (io, client) = tokio::io::duplex(16);
        (
            ClientIo::new(io, Some(memory.clone()), AnsweredEarly::default()),
            client,
        )
    }

    async fn given_up_after(io: &mut ClientIo<DuplexStream>, size: usize) -> Duration {
        let began = Instant::now();
        let error = io.write_all(&vec![b'x'; size]).await;
        let error = error.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_given_up() {
        let (mut io, _client) = client(&MemoryBudget::default());
        assert_eq!(given_up_after(&mut io, 17).await, UNREAD_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_given_up_sooner_when_others_need_the_memory() {
        let memory = MemoryBudget::of(1);
        let (mut io, _client) = client(&memory);
        let _held = memory.counted(bytes::Bytes::from_static(b"x"));
        assert_eq!(given_up_after(&mut io, 17).await, UNREAD_TIMEOUT_IN_NEED);
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_bytes_a_minute_are_not_reading() {
        let (mut io, mut client) = client(&MemoryBudget::default());
        let reading = tokio::spawn(async move {
            let mut bytes = [0; 16];
            while client.read(&mut bytes).await.is_ok_and(|read| read > 0) {
                tokio::time::sleep(Duration::from_secs(20)).await;
            }
        });
        assert_eq!(given_up_after(&mut io, PROGRESS).await, UNREAD_TIMEOUT);
        reading.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_slowly_gets_everything() {
        let (mut io, mut client) = client(&MemoryBudget::default());
        let reading = tokio::spawn(async move {
            let mut total = 0;
            let mut bytes = [0; 16];
            while let Ok(read @ 1..) = client.read(&mut bytes).await {
                total += read;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            total
        });
        io.write_all(&vec![b'x'; 3 * PROGRESS])
            .await
            .expect("somebody reads");
        drop(io);
        assert_eq!(reading.await.expect("it ends"), 3 * PROGRESS);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_to_come_in_time_once_it_has_begun() {
        let connections = ClientConnections::of(1);
        let peer = Peer::Network(([127, 0, 0, 1], 1).into());
        let connection = connections.enter(peer, &CancellationToken::new());
        let connection = connection.expect("there is room");
        let (io, mut client) = tokio::io::duplex(16);
        let io = ClientIo::new(io, None, AnsweredEarly::default());
        let mut io = io.with_head_deadline(connection.pauses());
        let mut bytes = [0; 8];
        for part in [b"head", b"body"] {
            client.write_all(part).await.expect("room");
            io.read_exact(&mut bytes[..4]).await.expect("all of it");
            let answering = connection.begin(&http::Method::POST);
            let silence = tokio::time::timeout(Duration::from_mins(9), io.read(&mut bytes));
            assert!(silence.await.is_err(), "a request may last");
            drop(answering);
        }
        let silence = tokio::time::timeout(Duration::from_mins(9), io.read(&mut bytes));
        assert!(silence.await.is_err(), "a connection may be idle");
        client.write_all(b"half").await.expect("room");
        let began = Instant::now();
        let error = io.read_exact(&mut bytes).await.expect_err("no other half");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed(), HEAD_DEADLINE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_was_answered_early_is_heard_to_its_end_but_not_for_ever() {
        for (pieces, pause, expected) in [
            (3, 1, Duration::from_secs(3)),
            (1, 1_000, Duration::from_secs(1) + HEARING_SILENCE),
            (1_000, 1, HEARING),
        ] {
            let early = AnsweredEarly::default();
            let (io, mut client) = tokio::io::duplex(64);
            let mut io = ClientIo::new(io, None, early.clone());
            early.note();
            let sending = tokio::spawn(async move {
                for piece in 0..pieces {
                    let seconds = if piece == 0 { 1 } else { pause };
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    if client.write_all(b"more").await.is_err() {
                        return client;
                    }
                }
                tokio::time::sleep(Duration::from_secs(pause - 1)).await;
                client.shutdown().await.expect("its end");
                client
            });
            let began = Instant::now();
            io.shutdown().await.expect("an end");
            assert_eq!(began.elapsed(), expected);
            sending.abort();
        }
    }
}
