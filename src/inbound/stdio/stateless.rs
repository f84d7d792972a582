//! Requests of a modern client on a pipe: each speaks for itself, and a stream of news is one more request that runs.

use super::{Conversation, fault, pass_on};
use crate::{
    call_context::ClientSender,
    inbound::{dispatch::Envelope, listen},
    wire::{self, Request, RequestMeta, RpcError, error_frame, method},
};

/// Limit: streams of news that a client keeps open.
const STREAMS: usize = 64;

impl Conversation {
    /// Whether a request speaks for itself. Before `initialize` the question what we are is one of a modern client.
    pub(super) fn is_stateless(&self, request: &Request) -> bool {
        let is_open = !self.listening.is_empty();
        wire::is_modern(request.params.as_ref()) || (!is_open && method::is_modern(&request.method))
    }

    pub(super) async fn stateless_request(&mut self, request: Request) {
        match RequestMeta::read(request.params.as_ref()) {
            Err(error) => {
                let frame = error_frame(Some(&request.id), &error.to_raw());
                self.say(frame).await;
            }
            Ok(meta) => {
                let (view, caller) = (self.session.view.clone(), self.session.caller.clone());
                let envelope = Envelope {
                    connection: Some(self.session.known.clone()),
                    ..Envelope::stateless(view, caller, &meta)
                };
                if &*request.method == method::LISTEN {
                    self.listen(envelope, request).await;
                } else {
                    self.request(envelope, request);
                }
            }
        }
    }

    /// Opens a stream of news, which takes no turn: it lasts as long as the client wants.
    async fn listen(&mut self, envelope: Envelope, request: Request) {
        while self.streams.try_join_next().is_some() {}
        if self.streams.len() >= STREAMS {
            let why = format!("{STREAMS} streams of news are open on this connection already");
            let error = RpcError::new(RpcError::INTERNAL, why).to_raw();
            self.say(error_frame(Some(&request.id), &error)).await;
            return;
        }
        let (to_client, receiver) = ClientSender::new();
        let (running, id) = (self.session.begin(&request.id), request.id.detached());
        let answering = self
            .inbound
            .answer_while(Some(running), envelope, request, to_client);
        let (closing, out) = (self.inbound.0.closing.clone(), self.out.clone());
        self.streams.spawn(async move {
            let answering = async {
                let frame = answering.await?;
                if closing.is_cancelled() {
                    // Fails only if nobody is left to be told.
                    let _ = out.send(listen::ended(&id)).await;
                }
                Some(frame)
            };
            pass_on(answering, &receiver, &out).await;
        });
    }

    /// Waits until the streams of news have their ends.
    pub(super) async fn streams_ended(&mut self) {
        while let Some(ended) = self.streams.join_next().await {
            ended.unwrap_or_else(|error| fault(&error));
        }
    }
}
