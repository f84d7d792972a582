//! Sending messages in the session of the moment. What a server refused because it does not know the session was not read, so it
//! is sent once more in the next one; but a client's request only after the server's lists were read there, which its maker sees to.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;

use super::{pull::Pull, renewal::session_unknown, server::HttpShared, session::HttpSession};
use crate::{
    link::{
        LinkError, Maker,
        remote::{ACCEPTANCE, Posted, linger},
    },
    text::Quoted,
    wire::{Id, MessageFrame, RpcError},
};

/// What became of a message that wants no answer.
enum Delivery {
    Accepted,
    /// The server does not know the session; this says how it put it.
    SessionUnknown(LinkError),
}

impl HttpShared {
    /// Posts a request and gives what comes back. `sent_in` is kept true while this waits: the session in which the server may be
    /// working on the request. One of a client fails with [`LinkError::SessionRenewed`] while the lists of a new session are unread.
    pub(super) async fn request(
        self: &Arc<Self>,
        id: &Id,
        frame: MessageFrame,
        headers: &HeaderMap,
        maker: Maker,
        sent_in: &mut Option<Arc<HttpSession>>,
    ) -> Result<Pull, LinkError> {
        let session = self.session();
        if maker != Maker::Ourselves && session.has_unread_lists() {
            return Err(LinkError::SessionRenewed);
        }
        *sent_in = Some(session.clone());
        let posted = self.server.post(&session, &frame, headers).await?;
        if let Some(why) = header_mismatch(&posted, &session) {
            let why = Quoted::of(why.as_bytes(), &self.server.client.secrets());
            return Err(LinkError::HeaderMismatch(why));
        }
        // Refused twice, it is the request and not the session that the server does not take.
        if maker == Maker::ClientAgain || !is_refused_unread(&posted, &session) {
            return Pull::of(self, id, session, posted);
        }
        *sent_in = None;
        // Boxed, because it is large and seldom.
        let again = Box::pin(async {
            self.renew(session.number).await?;
            if maker == Maker::Client {
                return Err(LinkError::SessionRenewed);
            }
            let session = self.session();
            *sent_in = Some(session.clone());
            let posted = self.server.post(&session, &frame, headers).await?;
            match posted {
                Posted::Refused(refusal) if session_unknown(&refusal, &session) => {
                    Err(refusal.into_error().session_lost())
                }
                posted => Pull::of(self, id, session, posted),
            }
        });
        again.await
    }

    /// Posts a message that wants no answer. A session that is lost is renewed.
    pub(super) async fn notify(self: &Arc<Self>, frame: Bytes) -> Result<(), LinkError> {
        let session = self.session();
        match self.deliver(&session, frame.clone()).await? {
            Delivery::Accepted => Ok(()),
            Delivery::SessionUnknown(_) => {
                self.renew(session.number).await?;
                self.tell(&self.session(), frame).await
            }
        }
    }

    /// The same for a message that means something in the given session only.
    pub(super) async fn tell(&self, session: &HttpSession, frame: Bytes) -> Result<(), LinkError> {
        match self.deliver(session, frame).await? {
            Delivery::Accepted => Ok(()),
            Delivery::SessionUnknown(why) => Err(why.session_lost()),
        }
    }

    async fn deliver(&self, session: &HttpSession, frame: Bytes) -> Result<Delivery, LinkError> {
        let none = HeaderMap::new();
        let frame = frame.into();
        let post = self.server.post(session, &frame, &none);
        let Ok(posted) = tokio::time::timeout(ACCEPTANCE, post).await else {
            let why = "the message was not accepted within 30 s";
            return Err(LinkError::Lost(why.to_owned()));
        };
        match posted? {
            Posted::Accepted(response) => {
                if let Some(rest) = linger(response.into_body()) {
                    self.tasks.spawn(rest);
                }
                Ok(Delivery::Accepted)
            }
            Posted::Refused(refusal) if session_unknown(&refusal, session) => {
                Ok(Delivery::SessionUnknown(refusal.into_error()))
            }
            Posted::Refused(refusal) => Err(refusal.into_error()),
        }
    }
}

fn is_refused_unread(posted: &Posted, session: &HttpSession) -> bool {
    matches!(posted, Posted::Refused(refusal) if session_unknown(refusal, session))
}

/// What the server says, if it finds that headers and body do not match.
fn header_mismatch(posted: &Posted, session: &HttpSession) -> Option<String> {
    match posted {
        Posted::Refused(refusal) if session.is_stateless() => {
            refusal.message_of(RpcError::HEADER_MISMATCH)
        }
        _ => None,
    }
}
