//! The messages of an upstream that belong to no call: notifications, questions, and the end of the connection.

use std::time::Instant;

use futures_util::future::FutureExt;

use super::Worker;
use crate::{
    link::{News, Unattributed},
    upstream::{
        calls::questions::{ANSWERS, deliver},
        connect::listening::untagged,
    },
    wire::{LogLevel, Notification, Outcome, Request, RpcError, bridge, method},
};

impl Worker {
    /// Takes what came outside of calls; `None` is the end of the connection.
    pub(super) async fn take_news(&mut self, news: Option<News>) {
        match news {
            None => {
                let reason = "the connection ended".to_owned();
                self.lose_connection(reason).await;
            }
            Some(News::Closed(reason)) => self.lose_connection(reason).await,
            Some(News::Notification(notice)) => self.take_notification(&notice),
            Some(News::Question(question)) => self.answer_question(question),
            Some(News::Missed) => {
                if let Some(connected) = &mut self.life.open {
                    connected.list_now();
                }
            }
            Some(News::Renewed(initialize)) => {
                tracing::info!(server = %self.entry.name, "the server's session had expired and was renewed");
                if let Some(connected) = &mut self.life.open {
                    connected.open.listing.initialize = initialize.detached();
                    connected.list_now();
                }
                self.forget_subscriptions();
                self.sync_subscriptions();
                self.life.level_set = None;
                self.sync_log_level();
            }
        }
    }

    fn take_notification(&mut self, notice: &Notification) {
        let server = &self.entry.name;
        match &*notice.method {
            method::TOOLS_CHANGED | method::PROMPTS_CHANGED | method::RESOURCES_CHANGED => {
                let Some(connected) = &mut self.life.open else {
                    return;
                };
                // Logged once for each listing: a server may send thousands.
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
                let notified = self.shared.subscriptions.notify(&untagged(notice.clone()));
                tracing::debug!(%server, told = notified, "a resource of the server was updated");
            }
            // On pipes a subscription may bring the last when it has been replaced.
            method::TASK_CHANGED
                if self.shared.subscriptions.notify(&untagged(notice.clone())) > 0 => {}
            // Answers to what nobody asks any more.
            method::PROGRESS | method::CANCELLED => (),
            _ if self.tell_client(notice) => (),
            method::LOG_MESSAGE => {
                let open = self.life.open.as_ref();
                if open.is_some_and(|connected| connected.live.link.owner().loses_lines()) {
                    self.shared.divide(method::LOG_MESSAGE);
                }
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

    /// Passes a notification to the client whose connection this is, if there is one: log lines from the level on that it wants, and
    /// whatever we do not know. Gives whether the client was to get it.
    fn tell_client(&self, notice: &Notification) -> bool {
        let open = self.life.open.as_ref();
        let Some(client) = open.and_then(|connected| self.shared.client_of(&connected.live)) else {
            return false;
        };
        let wanted = self
            .wanted_levels(|key| *key == **client.session())
            .sessions;
        let is_wanted = &*notice.method != method::LOG_MESSAGE
            || wanted
                .is_none_or(|wanted| LogLevel::of_line(notice).is_none_or(|level| level >= wanted));
        if is_wanted {
            client.tell(notice);
        }
        is_wanted
    }

    /// Answers a question that came with no call: pings and requests for roots ourselves; others go to the client whose connection this is,
    /// or are refused with the reason. A server that takes its time to accept an answer holds nobody up.
    fn answer_question(&mut self, question: Request) {
        let Some(connected) = &self.life.open else {
            return;
        };
        let may_ask = connected.open.listing.revision.has_server_requests();
        let known = |outcome| std::future::ready(outcome).boxed();
        let ours = may_ask.then(|| self.shared.answer_ourselves(&question));
        let outcome = match ours.flatten() {
            _ if !may_ask => {
                let why = "the server's protocol revision does not allow requests from servers";
                known(Outcome::Error(RpcError::invalid_request(why).to_raw()))
            }
            Some(outcome) => known(outcome),
            None => match connected.open.link.attribute(&question) {
                Ok(()) => return,
                Err(why) => match self.shared.client_of(&connected.live) {
                    Some(client) => {
                        client.ask(question.clone(), self.shared.client_streams.newest())
                    }
                    None => known(self.unattributed(&question, why)),
                },
            },
        };
        if self.life.answering.len() >= ANSWERS {
            tracing::debug!(server = %self.entry.name, "a question of the server was ignored: too many are waiting for answers");
            return;
        }
        let answering = deliver(connected.open.link.clone(), question.id, outcome);
        self.life.answering.push(answering.boxed());
    }

    /// The refusal of a question that belongs to no client.
    fn unattributed(&self, question: &Request, why: Unattributed) -> Outcome {
        let (method, why) = (&*question.method, why.to_string());
        self.shared.log_refusal(method, &why);
        Outcome::Error(bridge::refused_question(method, &why).to_raw())
    }
}
