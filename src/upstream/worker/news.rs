//! What an upstream says that belongs to no call.

use std::time::{Duration, Instant};

use super::Worker;
use crate::{
    upstream::{link::News, questions::own_answer},
    wire::{Notification, Outcome, Request, RpcError, method},
};

/// Rapid `list_changed` notifications become one listing.
const COALESCE: Duration = Duration::from_millis(250);

impl Worker {
    pub(super) async fn news(&mut self, news: Option<News>) {
        match news {
            None => self.lost("the connection ended".to_owned()).await,
            Some(News::Closed(reason)) => self.lost(reason).await,
            Some(News::Notification(notice)) => self.notification(&notice),
            Some(News::Question(question)) => self.question(&question).await,
            Some(News::Renewed(initialize)) => {
                tracing::info!(server = %self.entry.name, "the server's session had expired and was renewed");
                if let Some(connected) = &mut self.life.open {
                    connected.open.listing.initialize = initialize.detached();
                }
                self.life.relist_at = Some(Instant::now());
            }
        }
    }

    pub(super) fn notification(&mut self, notice: &Notification) {
        let server = &self.entry.name;
        match &*notice.method {
            method::TOOLS_CHANGED | method::PROMPTS_CHANGED | method::RESOURCES_CHANGED => {
                let promised = self
                    .life
                    .open
                    .as_ref()
                    .is_some_and(|c| c.live.catalog.load().has_capability("tools.listChanged"));
                if &*notice.method == method::TOOLS_CHANGED {
                    tracing::info!(%server, "Received tools/list_changed notification from upstream server");
                    if !promised {
                        tracing::warn!(
                            %server,
                            "Received tools notification from server that did not advertise listChanged capability"
                        );
                    }
                }
                self.life.relist_at.get_or_insert(Instant::now() + COALESCE);
            }
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

    /// Questions that belong to no caller: life signs and roots are answered by us, the rest is refused with its reason.
    pub(super) async fn question(&mut self, question: &Request) {
        let outcome = own_answer(question, &self.entry.roots).unwrap_or_else(|| {
            let method = &*question.method;
            tracing::debug!(server = %self.entry.name, method, "a question of the server was refused");
            Outcome::Error(RpcError::method_not_found(method).to_raw())
        });
        if let Some(connected) = &self.life.open
            && let Err(error) = connected.open.link.answer(&question.id, &outcome).await
        {
            tracing::debug!(server = %self.entry.name, %error, "a question of the server could not be answered");
        }
    }
}
