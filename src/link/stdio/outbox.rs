//! What waits to be written to a pipe. Callers append whole frames and leave; one task writes, so a caller that is
//! cancelled never leaves half a frame behind.

use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::Notify,
};

use crate::{
    link::LinkError,
    runtime::sync::Guarded,
    wire::{MessageFrame, lines},
};

/// Limit: bytes that may wait for an upstream which does not read. Two of the largest requests a client may send.
const MAX_WAITING: usize = 64 << 20;

/// The frames that wait.
#[derive(Default)]
pub(super) struct Outbox {
    waiting: Guarded<Waiting>,
    news: Notify,
}

#[derive(Default)]
struct Waiting {
    text: Vec<u8>,
    closed: bool,
}

impl Outbox {
    /// Appends one frame as one line.
    pub(super) fn push(&self, frame: impl Into<MessageFrame>) -> Result<(), LinkError> {
        let mut frame = frame.into();
        let mut waiting = self.waiting.lock();
        if waiting.closed {
            return Err(LinkError::NotDelivered(
                "the connection is closed".to_owned(),
            ));
        }
        if !waiting.text.is_empty() && waiting.text.len() + frame.size() > MAX_WAITING {
            return Err(LinkError::NotDelivered(
                "the server does not read its input".to_owned(),
            ));
        }
        waiting.text.reserve(frame.size() + 1);
        while let Some(piece) = frame.next_piece() {
            lines::append_piece(&piece, &mut waiting.text);
        }
        waiting.text.push(b'\n');
        drop(waiting);
        self.news.notify_one();
        Ok(())
    }

    /// Refuses further frames and lets the writer end, which closes the pipe.
    pub(super) fn close(&self) {
        self.waiting.lock().closed = true;
        self.news.notify_one();
    }

    /// Writes until the outbox is closed and empty, or the pipe breaks.
    pub(super) async fn write_to(&self, mut pipe: impl AsyncWrite + Unpin) -> std::io::Result<()> {
        let mut batch = Vec::new();
        loop {
            let closed = {
                let mut waiting = self.waiting.lock();
                std::mem::swap(&mut waiting.text, &mut batch);
                waiting.closed
            };
            if !batch.is_empty() {
                pipe.write_all(&batch).await?;
                pipe.flush().await?;
                // A large frame passed: its memory goes too.
                if batch.capacity() > 1 << 20 {
                    batch = Vec::new();
                }
                batch.clear();
                continue;
            }
            if closed {
                return Ok(());
            }
            self.news.notified().await;
        }
    }
}
