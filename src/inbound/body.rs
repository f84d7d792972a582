//! Bodies of clients, read whole.

use std::time::Duration;

use axum::{
    body::{Body, HttpBody},
    response::Response,
};
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::BodyExt;

use super::{
    answer,
    dispatch::{MAX_MESSAGE, too_large},
};

/// A body that is too large is read and thrown away up to this size, because many clients cannot hear an answer before they have
/// sent everything.
const MAX_DISCARDED: usize = 256 << 20;

/// How long a client may take to send its body.
const BODY_DEADLINE: Duration = Duration::from_mins(2);

/// The whole body.
pub(super) async fn read(mut body: Body) -> Result<Bytes, Response> {
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let reading = async {
        let (mut text, mut size) = (BytesMut::with_capacity(expected.min(MAX_MESSAGE)), 0_usize);
        while let Some(frame) = body.frame().await {
            let data = frame
                .map_err(|_| answer::empty(StatusCode::BAD_REQUEST))?
                .into_data()
                .unwrap_or_default();
            size = size.saturating_add(data.len());
            if size <= MAX_MESSAGE {
                text.extend_from_slice(&data);
            } else if size > MAX_DISCARDED {
                break;
            } else {
                text = BytesMut::new();
            }
        }
        if size > MAX_MESSAGE {
            return Err(answer::rpc_error(
                StatusCode::PAYLOAD_TOO_LARGE,
                None,
                &too_large(),
            ));
        }
        Ok(text.freeze())
    };
    match tokio::time::timeout(BODY_DEADLINE, reading).await {
        Ok(body) => body,
        Err(_) => Err(answer::empty(StatusCode::REQUEST_TIMEOUT)),
    }
}
