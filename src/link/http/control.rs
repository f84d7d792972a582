//! The control lane: frames of an rmcp client, which are posted and whose answers go to its inbox. Every request of it gets an
//! answer, even one that the server gives in no readable form: the client would wait for ever.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use tokio_util::sync::CancellationToken;

use super::{HttpLink, pull::Pull, shared::HttpShared};
use crate::{
    link::{GOODBYE, Incoming, LinkError, News},
    wire::{
        Id, Message, Notification, Outcome, Request, Response, RpcError, method, notification_frame,
    },
};

/// The sending half of the control lane. Cheap to clone.
#[derive(Clone)]
pub struct HttpControl(HttpLink);

impl HttpControl {
    pub(super) fn new(link: HttpLink) -> Self {
        Self(link)
    }

    /// Sends one frame. Comes back when the server has taken it, before an answer is read.
    pub async fn send(&self, frame: Bytes) -> Result<(), LinkError> {
        let shared = &self.0.shared;
        // Boxed, because it is large and seldom.
        let mut sent = Box::pin(dispatch(shared, frame));
        shared.unless_closed(sent.as_mut()).await
    }

    /// Ends every task of the link, and the session if there is one. Requests in flight fail.
    pub async fn close(&self) {
        let shared = &self.0.shared;
        let session = shared.session();
        if shared.end().await && session.has_id() {
            // A server need not allow this, and forgets the session by itself some day.
            let _ = tokio::time::timeout(GOODBYE, shared.server.delete(&session)).await;
        }
    }
}

async fn dispatch(shared: &Arc<HttpShared>, frame: Bytes) -> Result<(), LinkError> {
    match Message::parse(&frame) {
        Ok(Message::Request(request)) if &*request.method == method::INITIALIZE => {
            initialize(shared, request.id, frame).await
        }
        Ok(Message::Request(request)) => ask(shared, &request, frame).await,
        Ok(Message::Notification(notice)) => notify(shared, &notice, frame).await,
        Ok(Message::Response(_)) => shared.tell(&shared.session(), frame).await,
        Err(error) => Err(LinkError::NotDelivered(error.to_string())),
    }
}

async fn initialize(shared: &Arc<HttpShared>, id: Id, frame: Bytes) -> Result<(), LinkError> {
    let opening = shared.open(id.clone(), frame).await?;
    let reader = shared.clone();
    shared.spawn(async move {
        let outcome = opening.finish(&reader).await;
        reader.answer_control(&id, outcome).await;
    });
    Ok(())
}

async fn ask(shared: &Arc<HttpShared>, request: &Request, frame: Bytes) -> Result<(), LinkError> {
    let noted = ControlRequest::note(shared, request.id.clone());
    let mut nowhere = None;
    let headers = HeaderMap::new();
    let posted = shared.request(&noted.id, frame, &headers, &mut nowhere);
    match noted.withdrawn.clone().run_until_cancelled(posted).await {
        Some(Ok(pull)) => {
            let reader = noted.read(pull);
            shared.spawn(reader);
            Ok(())
        }
        // An rmcp client that probes a server goes on only after an answer.
        Some(Err(error @ LinkError::Status { status, .. }))
            if (400..500).contains(&status) && !matches!(status, 401 | 403) =>
        {
            shared.answer_control(&noted.id, Err(error)).await;
            Ok(())
        }
        Some(Err(error)) => Err(error),
        None => Ok(()),
    }
}

async fn notify(
    shared: &Arc<HttpShared>,
    notice: &Notification,
    frame: Bytes,
) -> Result<(), LinkError> {
    match &*notice.method {
        method::INITIALIZED => {
            shared.tell(&shared.session(), frame).await?;
            shared.listen().await;
            Ok(())
        }
        method::CANCELLED => {
            shared.withdraw(notice);
            shared.tell(&shared.session(), frame).await
        }
        _ => shared.notify(frame).await,
    }
}

/// A request of the control lane that waits for its answer. The rmcp client may withdraw it by its id.
struct ControlRequest {
    shared: Arc<HttpShared>,
    id: Id,
    withdrawn: CancellationToken,
}

impl ControlRequest {
    fn note(shared: &Arc<HttpShared>, id: Id) -> Self {
        let withdrawn = CancellationToken::new();
        shared.controls.lock().push((id.clone(), withdrawn.clone()));
        Self {
            shared: shared.clone(),
            id,
            withdrawn,
        }
    }

    /// Reads up to the answer.
    async fn read(self, mut pull: Pull) {
        let reading = async {
            loop {
                match pull.next().await {
                    Ok(Incoming::Notice(notice)) => self.shared.sort_control_notice(notice).await,
                    Ok(Incoming::Question(question)) => {
                        self.shared.news.post(News::Question(question));
                    }
                    Ok(Incoming::Answer(outcome)) => return Ok(outcome),
                    Err(error) => return Err(error),
                }
            }
        };
        if let Some(outcome) = self.withdrawn.run_until_cancelled(reading).await {
            self.shared.answer_control(&self.id, outcome).await;
        }
    }
}

impl Drop for ControlRequest {
    fn drop(&mut self) {
        self.shared.controls.lock().retain(|(id, _)| *id != self.id);
    }
}

impl HttpShared {
    /// Waits no more for the answer to a request that the rmcp client withdraws.
    fn withdraw(&self, cancelled: &Notification) {
        let id = cancelled.params.as_ref().and_then(|p| p.get("requestId"));
        let Some(withdrawn) = id else {
            return;
        };
        for (id, token) in self.controls.lock().iter() {
            if id.as_bytes() == withdrawn.as_bytes() {
                token.cancel();
            }
        }
    }

    /// Progress of its own requests is the rmcp client's; everything else is sorted as if it belonged to none.
    async fn sort_control_notice(&self, notice: Notification) {
        if &*notice.method == method::PROGRESS {
            let frame = notification_frame(&notice.method, notice.params.as_ref());
            self.to_control(frame).await;
        } else {
            self.sort_notice(notice).await;
        }
    }

    async fn answer_control(&self, id: &Id, outcome: Result<Outcome, LinkError>) {
        let outcome = outcome.unwrap_or_else(|error| {
            let error = RpcError::new(RpcError::INTERNAL, error.to_string());
            Outcome::Error(error.to_raw())
        });
        let answer = Response { id: None, outcome };
        self.to_control(answer.frame_for(id)).await;
    }
}
