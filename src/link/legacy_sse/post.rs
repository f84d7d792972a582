//! Posting messages, and what the server makes of it: most only take a message; some answer in the response, or refuse.

use std::{pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Response, StatusCode, header};

use tokio_util::sync::CancellationToken;

use super::LegacySseShared;
use crate::{
    link::{
        LinkError,
        remote::{
            ACCEPTANCE, HttpRefusal, Posted, Reply, ServerBody, WITHDRAWAL, is_event_stream, linger,
        },
        withdrawal_frame,
    },
    wire::{Id, Message},
};

/// How long a request that nobody waits for any more is still being posted: a POST that is torn off leaves open whether it arrived,
/// and costs its connection.
const SETTLING: Duration = Duration::from_secs(1);

impl LegacySseShared {
    /// Posts a message that wants no answer; comes back when the server has taken it.
    pub(super) async fn tell(self: &Arc<Self>, frame: Bytes) -> Result<(), LinkError> {
        let telling = async {
            let Ok(posted) = tokio::time::timeout(ACCEPTANCE, self.deliver(None, frame)).await
            else {
                let why = "the message was not accepted within 30 s";
                return Err(LinkError::Lost(why.to_owned()));
            };
            self.pass_over(posted?);
            Ok(())
        };
        self.tasks.unless_closed(pin!(telling)).await
    }

    /// Posts a request for as long as anybody waits for its answer. An error goes to the request;
    /// `delivered` is cancelled when the server has taken it, or will not.
    pub(super) async fn post_request(
        self: Arc<Self>,
        number: u64,
        frame: Bytes,
        delivered: CancellationToken,
        settled: CancellationToken,
    ) {
        let id = Id::ours(number);
        let settling = async {
            settled.cancelled().await;
            tokio::time::sleep(SETTLING).await;
        };
        let posting = async {
            match self.deliver(Some(&id), frame).await {
                Ok(response) => {
                    delivered.cancel();
                    if let Some(response) = response {
                        self.read_answers(response).await;
                    }
                }
                Err(error) => {
                    let in_doubt = matches!(error, LinkError::Lost(_));
                    self.in_flight.finish(number, Err(error));
                    if in_doubt {
                        self.withdraw(number).await;
                    }
                }
            }
        };
        tokio::select! {
            () = posting => (),
            () = settling => (),
        }
        delivered.cancel();
    }

    /// Tells the server that nobody waits for an answer any more.
    pub(super) async fn withdraw(self: &Arc<Self>, number: u64) {
        let sent = async {
            let _turn = self.tasks.withdrawals.acquire().await;
            self.tell(withdrawal_frame(number)).await
        };
        if let Ok(Err(error)) = tokio::time::timeout(WITHDRAWAL, sent).await {
            tracing::debug!(%error, "a withdrawn request could not be cancelled");
        }
    }

    /// Posts a frame. Gives the response if there may be more in it than that the frame was taken.
    async fn deliver(
        self: &Arc<Self>,
        id: Option<&Id>,
        frame: Bytes,
    ) -> Result<Option<Response<ServerBody>>, LinkError> {
        let address = self.address.load_full();
        let posting = || self.client.message(&address, frame.clone());
        match self.client.submit(posting).await? {
            Posted::Accepted(response) if id.is_some() && may_answer(&response) => {
                Ok(Some(response))
            }
            Posted::Accepted(response) => {
                self.pass_over(Some(response));
                Ok(None)
            }
            Posted::Refused(refusal) => match id.filter(|_| !refusal.means_no_session()) {
                Some(id) => self.refused(id, refusal).await.map(|()| None),
                None => Err(self.not_taken(id, refusal)),
            },
        }
    }

    /// A refusal in the form of an answer is one.
    async fn refused(self: &Arc<Self>, id: &Id, refusal: HttpRefusal) -> Result<(), LinkError> {
        match Message::parse(&refusal.body) {
            Ok(Message::Response(answer)) if refusal.is_answer_to(id) => {
                self.answer(answer.frame_for(id)).await;
                Ok(())
            }
            _ => Err(self.not_taken(Some(id), refusal)),
        }
    }

    /// A server that does not know the session has forgotten the stream, too, even if the stream is still open.
    fn not_taken(&self, id: Option<&Id>, refusal: HttpRefusal) -> LinkError {
        let is_forgotten = refusal.means_no_session();
        let error = refusal.into_error();
        if !is_forgotten {
            return error;
        }
        let error = error.session_lost();
        // First this one, which was not read; the end would call it lost with the others.
        if let Some(number) = id.and_then(Id::our_number) {
            self.in_flight.finish(number, Err(error.clone()));
        }
        self.end("it has forgotten the session");
        error
    }

    /// Hands the messages of a response to the reader.
    async fn read_answers(&self, response: Response<ServerBody>) {
        match Reply::of(response) {
            Reply::Events(mut events) => {
                while let Ok(frame) = events.next().await {
                    self.answer(frame).await;
                }
            }
            Reply::Whole(mut body) => {
                if let Ok(frame) = body.read().await
                    && frame.trim_ascii_start().first() == Some(&b'{')
                {
                    self.answer(frame).await;
                }
            }
        }
    }

    async fn answer(&self, frame: Bytes) {
        // The reader is gone, and the link with it, if this fails.
        let _ = self.answered.send(frame).await;
    }

    /// Lets the rest of a response that says nothing end on its own.
    fn pass_over(self: &Arc<Self>, response: Option<Response<ServerBody>>) {
        if let Some(rest) = response.and_then(|response| linger(response.into_body())) {
            self.tasks.spawn(rest);
        }
    }
}

/// Whether a response may hold an answer: 202 and plain texts only say that the request was taken.
fn may_answer(response: &Response<ServerBody>) -> bool {
    let headers = response.headers();
    let is_json = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("application/json"));
    response.status() == StatusCode::OK && (is_json || is_event_stream(headers))
}
