//! What an upstream says that belongs to no call.

use std::time::Instant;

use futures_util::future::{BoxFuture, FutureExt};

use super::Worker;
use crate::{
    link::{News, Unattributed},
    upstream::calls::questions::{ANSWERS, deliver},
    wire::{LogLevel, Notification, Outcome, Request, RpcError, bridge, method},
};

impl Worker {
    pub(super) async fn news(&mut self, news: Option<News>) {
        match news {
            None => self.lost("the connection ended".to_owned()).await,
            Some(News::Closed(reason)) => self.lost(reason).await,
            Some(News::Notification(notice)) => self.notification(&notice),
            Some(News::Question(question)) => self.question(question),
            Some(News::Missed) => {
                if let Some(connected) = &mut self.life.open {
                    connected.schedule.list_now(Instant::now());
                    connected.note_unread();
                }
            }
            Some(News::Renewed(initialize)) => {
                tracing::info!(server = %self.entry.name, "the server's session had expired and was renewed");
                if let Some(connected) = &mut self.life.open {
                    connected.open.listing.initialize = initialize.detached();
                    connected.schedule.list_now(Instant::now());
                    connected.note_unread();
                }
                self.forget_told();
                self.sync_subscriptions();
                self.life.level_told = None;
                self.sync_log_level();
            }
        }
    }

    pub(super) fn notification(&mut self, notice: &Notification) {
        let server = &self.entry.name;
        match &*notice.method {
            method::TOOLS_CHANGED | method::PROMPTS_CHANGED | method::RESOURCES_CHANGED => {
                let Some(connected) = &mut self.life.open else {
                    return;
                };
                // Said once for each listing: a server may send thousands.
                let first = connected.schedule.list_soon(Instant::now());
                connected.note_unread();
                if first && &*notice.method == method::TOOLS_CHANGED {
                    tracing::info!(%server, "Received tools/list_changed notification from upstream server");
                    let catalog = connected.live.catalog.load();
                    if !catalog.has_capability("tools.listChanged") {
                        tracing::warn!(
                            %server,
                            "Received tools notification from server that did not advertise listChanged capability"
                        );
                    }
                }
            }
            method::RESOURCE_UPDATED => {
                let told = self.shared.subscriptions.updated(notice);
                tracing::debug!(%server, told, "a resource of the server was updated");
            }
            // Answers to what nobody asks any more.
            method::PROGRESS | method::CANCELLED => (),
            _ if self.is_for_its_client(notice) && self.shared.tell_client(notice) => (),
            method::LOG_MESSAGE => {
                let text = notice
                    .params
                    .as_ref()
                    .and_then(|p| p.get("data"))
                    .map(|data| data.as_str().to_owned());
                tracing::debug!(%server, data = text.as_deref().unwrap_or_default(), "log line of the server");
            }
            other => {
                tracing::debug!(%server, method = other, "a notification of the server belongs to no call");
            }
        }
    }

    /// Whether what comes with no call is for the client whose connection this is, if it is one's: log lines from the level on
    /// that the server was told for it, and whatever we do not know.
    fn is_for_its_client(&self, notice: &Notification) -> bool {
        let told = self.life.level_told;
        &*notice.method != method::LOG_MESSAGE
            || told.is_none_or(|told| LogLevel::of_line(notice).is_none_or(|level| level >= told))
    }

    /// Questions that came with no call: life signs and roots are answered by us; others go to the only caller, or to the client whose
    /// connection this is, or are refused with the reason. A server that takes its time to accept an answer holds nobody up.
    pub(super) fn question(&mut self, question: Request) {
        let Some(connected) = &self.life.open else {
            return;
        };
        let asks_nobody = !connected.open.listing.revision.has_server_requests();
        let known = |outcome| std::future::ready(outcome).boxed();
        let ours = (!asks_nobody).then(|| self.shared.own_answer(&question));
        let outcome = match ours.flatten() {
            _ if asks_nobody => {
                let why = "the server's revision of the protocol has no requests of servers";
                known(Outcome::Error(RpcError::invalid_request(why).to_raw()))
            }
            Some(outcome) => known(outcome),
            None => match connected.open.link.attribute(question.clone()) {
                Ok(()) => return,
                Err(why) => self.unattributed(&question, why),
            },
        };
        if self.life.answering.len() >= ANSWERS {
            tracing::debug!(server = %self.entry.name, "a question of the server was passed over: too many wait for their answers");
            return;
        }
        let answering = deliver(connected.open.link.clone(), question.id, outcome);
        self.life.answering.push(answering.boxed());
    }

    /// A question that cannot be attributed to a call. If only one client uses the connection, that client is asked.
    fn unattributed(&self, question: &Request, why: Unattributed) -> BoxFuture<'static, Outcome> {
        if let Some(asking) = self.shared.ask_client(question) {
            return asking;
        }
        self.shared.note_question_outside();
        let method = &*question.method;
        let why = why.to_string();
        self.shared.log_refusal(method, &why);
        let refusal = bridge::refused_question(method, &why);
        std::future::ready(Outcome::Error(refusal.to_raw())).boxed()
    }
}
