//! Bodies of clients, read whole.

use std::time::Duration;

use axum::{
    body::{Body, HttpBody},
    response::Response,
};
use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt;
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use super::{answer, dispatch::MAX_MESSAGE};
use crate::{
    runtime::{memory_budget::MemoryBudget, self_wakes::quietly},
    wire::{RpcError, lines::BYTE_ORDER_MARK},
};

/// Limit: bytes of a body.
pub const LARGEST_BODY: u64 = MAX_MESSAGE as u64;

/// A body that is too large and did not say so is read and thrown away up to this size, because many clients cannot hear an answer before
/// they have sent everything.
const MAX_DISCARDED: usize = 256 << 20;

/// How long a client may take to send its body.
const BODY_DEADLINE: Duration = Duration::from_mins(2);

/// How long it may send nothing of it.
const BODY_SILENCE: Duration = Duration::from_secs(20);

/// So much of a body needs no place in the budget. Nearly all requests are smaller, and answers to questions always find their
/// way.
const UNCOUNTED: usize = 16 << 10;

/// How long a larger body waits for a place in the budget.
const ROOM_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnreadBody {
    /// It has more than [`LARGEST_BODY`] bytes.
    #[error("the body is larger than 32 MiB")]
    TooLarge,
    /// Nothing of it came for 20 s, or the whole took more than two minutes.
    #[error("the body did not arrive in time")]
    Late,
    /// Its end never came, or it is no body of HTTP.
    #[error("the body ended early")]
    Broken,
    /// What clients make the daemon hold is all that it may.
    #[error("memory for requests is full")]
    NoRoom,
}

impl UnreadBody {
    /// As MCP clients hear of it.
    fn answer(self) -> Response {
        match self {
            Self::TooLarge => refused_as_too_large(),
            Self::Late => answer::empty(StatusCode::REQUEST_TIMEOUT),
            Self::Broken => answer::empty(StatusCode::BAD_REQUEST),
            Self::NoRoom => answer::busy(),
        }
    }
}

/// Refuses a body that says to be something else than JSON. A browser's page has to say that it is JSON: then the browser asks us first
/// whether that page may send it, and for pages that are not trusted it ends there.
#[expect(clippy::result_large_err, reason = "the error is the answer")]
pub(super) fn check_type(headers: &HeaderMap) -> Result<(), Response> {
    let content_type = match headers.get(header::CONTENT_TYPE) {
        Some(content_type) => content_type.to_str().unwrap_or_default(),
        None if headers.contains_key(header::ORIGIN) => "",
        None => return Ok(()),
    };
    let kind = content_type.split(';').next().unwrap_or_default();
    let kind = kind.trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let kind = kind.to_ascii_lowercase();
    if kind.starts_with("application/") && kind.ends_with("+json") {
        return Ok(());
    }
    let error = RpcError::refused_request(
        format_args!("the Content-Type is {kind:?}"),
        "send the message as JSON, with Content-Type: application/json",
    );
    let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    Err(answer::rpc_error(status, None, &error))
}

/// The whole body of a client.
pub(super) async fn read(body: Body, budget: &MemoryBudget) -> Result<Bytes, Response> {
    read_body(body, budget).await.map_err(UnreadBody::answer)
}

/// The whole body, without a byte order mark before it. What of it is counted stays so until nobody refers to the request any more.
pub async fn read_body(mut body: Body, budget: &MemoryBudget) -> Result<Bytes, UnreadBody> {
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let (mut text, mut size) = (BytesMut::with_capacity(expected.min(MAX_MESSAGE)), 0_usize);
    let mut share = budget.share();
    let mut deadline = BodyDeadline::default();
    loop {
        let Some(data) = deadline.next_data(&mut body).await? else {
            break;
        };
        size = size.saturating_add(data.len());
        if size <= MAX_MESSAGE {
            let missing = size.saturating_sub(UNCOUNTED + share.bytes());
            if missing > 0 && !deadline.room(share.grow(missing, ROOM_TIMEOUT)).await? {
                tracing::warn!("request refused: memory for requests is full");
                return Err(UnreadBody::NoRoom);
            }
            text.extend_from_slice(&data);
        } else if size > MAX_DISCARDED {
            break;
        } else {
            text = BytesMut::new();
            share.shrink_to(0);
        }
    }
    if size > MAX_MESSAGE {
        return Err(UnreadBody::TooLarge);
    }
    if text.starts_with(BYTE_ORDER_MARK) {
        text.advance(BYTE_ORDER_MARK.len());
    }
    let text = text.freeze();
    let is_counted = share.bytes() > 0;
    Ok(if is_counted { share.on(text) } else { text })
}

/// Until when a body may take. Most are there with their head, and need no clock.
#[derive(Default)]
struct BodyDeadline(Option<Instant>);

impl BodyDeadline {
    fn end(&mut self) -> Instant {
        *self.0.get_or_insert_with(|| Instant::now() + BODY_DEADLINE)
    }

    /// The next piece of a body.
    async fn next_data(&mut self, body: &mut Body) -> Result<Option<Bytes>, UnreadBody> {
        let frame = quietly(|| body.frame().now_or_never());
        if !body.is_end_stream() {
            // Its connection is to read on.
            tokio::task::yield_now().await;
        }
        let frame = match frame {
            Some(_) if self.0.is_some_and(|end| end <= Instant::now()) => {
                return Err(UnreadBody::Late);
            }
            Some(frame) => frame,
            None => {
                let silent = Instant::now() + BODY_SILENCE;
                let frame = timeout_at(silent.min(self.end()), body.frame());
                frame.await.map_err(|_| UnreadBody::Late)?
            }
        };
        let Some(frame) = frame else {
            return Ok(None);
        };
        let frame = frame.map_err(|_| UnreadBody::Broken)?;
        Ok(Some(frame.into_data().unwrap_or_default()))
    }

    /// What becomes of a request for room.
    async fn room(&mut self, room: impl Future<Output = bool>) -> Result<bool, UnreadBody> {
        let room = timeout_at(self.end(), room);
        room.await.map_err(|_| UnreadBody::Late)
    }
}

/// The answer to a body that is too large.
pub fn refused_as_too_large() -> Response {
    answer::rpc_error(StatusCode::PAYLOAD_TOO_LARGE, None, &RpcError::too_large())
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    fn sent(pieces: usize, size: usize) -> Body {
        let piece = move |_| Ok::<_, std::convert::Infallible>(Bytes::from(vec![b'x'; size]));
        Body::from_stream(stream::iter((0..pieces).map(piece)))
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_share_one_budget_and_small_ones_need_none() {
        let budget = MemoryBudget::of(100 << 10);
        let whole = async |pieces, size| {
            let body = read(sent(pieces, size), &budget).await;
            body.map_err(|refusal| refusal.status())
        };
        let large = whole(10, 10 << 10).await.expect("it fits");
        assert_eq!(large.len(), 100 << 10);
        let refused = read(sent(4, 10 << 10), &budget).await;
        let refused = refused.expect_err("there is no room");
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(refused.headers()["retry-after"], "5");
        assert!(whole(1, UNCOUNTED).await.is_ok(), "it needs none");
        let part = large.slice(..1);
        drop(large);
        assert!(whole(4, 10 << 10).await.is_err(), "a part is in use");
        drop(part);
        assert!(whole(4, 10 << 10).await.is_ok());
    }

    #[tokio::test]
    async fn a_byte_order_mark_is_passed_over() {
        let body = read(Body::from("\u{feff}{}"), &MemoryBudget::default()).await;
        assert_eq!(body.expect("it is whole"), "{}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_trickles_is_given_up() {
        let trickle = stream::unfold((), |()| async {
            tokio::time::sleep(BODY_SILENCE / 2).await;
            let piece = Bytes::from_static(b" ");
            Some((Ok::<_, std::convert::Infallible>(piece), ()))
        });
        let began = Instant::now();
        let refused = read(Body::from_stream(trickle), &MemoryBudget::default()).await;
        assert_eq!(refused.expect_err("it never ends").status(), 408);
        assert_eq!(began.elapsed(), BODY_DEADLINE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_falls_silent_in_its_body_is_given_up() {
        let body = Body::from_stream(stream::pending::<Result<Bytes, std::convert::Infallible>>());
        let began = Instant::now();
        let refused = read(body, &MemoryBudget::default()).await;
        assert_eq!(refused.expect_err("nothing came").status(), 408);
        assert_eq!(began.elapsed(), BODY_SILENCE);
    }
}
