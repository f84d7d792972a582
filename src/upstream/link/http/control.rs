//! The control lane: frames of an rmcp client, which are posted and whose answers go to its inbox. Every request of it gets an
//! answer, even one that the server gives in no readable form: the client would wait for ever.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    HttpLink,
    pull::Pull,
    shared::{Shared, lock},
};
use crate::{
    upstream::link::{GOODBYE, Inbound, LinkError, News},
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
        shared.unless_closed(dispatch(shared, frame)).await
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

async fn dispatch(shared: &Arc<Shared>, frame: Bytes) -> Result<(), LinkError> {
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

async fn initialize(shared: &Arc<Shared>, id: Id, frame: Bytes) -> Result<(), LinkError> {
    let opening = shared.open(id.clone(), frame).await?;
    let reader = shared.clone();
    shared.spawn(async move {
        let outcome = opening.finish(&reader).await;
        reader.answer_control(&id, outcome).await;
    });
    Ok(())
}

async fn ask(shared: &Arc<Shared>, request: &Request, frame: Bytes) -> Result<(), LinkError> {
    let id = request.id.clone();
    match shared.request(&id, frame, &mut None).await {
        Ok(pull) => {
            shared.read_for_control(id, pull);
            Ok(())
        }
        // An rmcp client that probes a server goes on only after an answer.
        Err(error @ LinkError::Status { status, .. })
            if (400..500).contains(&status) && !matches!(status, 401 | 403) =>
        {
            shared.answer_control(&id, Err(error)).await;
            Ok(())
        }
        Err(error) => Err(error),
    }
}

async fn notify(
    shared: &Arc<Shared>,
    notice: &Notification,
    frame: Bytes,
) -> Result<(), LinkError> {
    match &*notice.method {
        method::INITIALIZED => {
            shared.tell(&shared.session(), frame).await?;
            shared.listen();
            Ok(())
        }
        method::CANCELLED => {
            shared.stop_reading(notice);
            shared.tell(&shared.session(), frame).await
        }
        _ => shared.notify(frame).await,
    }
}

impl Shared {
    /// Reads the answer to a request of the control lane beside its caller.
    fn read_for_control(self: &Arc<Self>, id: Id, mut pull: Pull) {
        // Held until the reader is noted, or its own removal could come first.
        let mut readers = lock(&self.readers);
        let (shared, reading) = (self.clone(), id.clone());
        let reader = self.spawn(async move {
            let outcome = loop {
                match pull.next().await {
                    Ok(Inbound::Notice(notice)) => shared.sort_control_notice(notice).await,
                    Ok(Inbound::Question(question)) => shared.post_news(News::Question(question)),
                    Ok(Inbound::Answer(outcome)) => break Ok(outcome),
                    Err(error) => break Err(error),
                }
            };
            shared.answer_control(&reading, outcome).await;
            lock(&shared.readers).retain(|(id, _)| *id != reading);
        });
        readers.extend(reader.map(|reader| (id, reader)));
    }

    /// Stops to read the answer to a request that the rmcp client withdraws.
    fn stop_reading(&self, cancelled: &Notification) {
        let id = cancelled.params.as_ref().and_then(|p| p.get("requestId"));
        let Some(withdrawn) = id else {
            return;
        };
        lock(&self.readers).retain(|(id, reader)| {
            let stays = id.as_bytes() != withdrawn.as_bytes();
            if !stays {
                reader.abort();
            }
            stays
        });
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
