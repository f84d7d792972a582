//! The first contact with a server whose entry an agent wrote, at a person's request: the entry is marked as a person's, so that the server
//! is connected, and its lists are reviewed. If it lists nothing, the entry is marked as the agent's again, so that it is neither contacted
//! nor filled in from then on.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{Inspection, Management, inspection::awaits_contact, patching::by_a_person};
use crate::{
    config::{Change, ChangeOf},
    failure::{ErrorCode, Failure, NextStep, Result},
    gate,
    runtime::long_work::LongWork,
};

impl Management {
    /// Connects a quarantined server to read its lists, although an agent wrote its entry, and reviews it in a turn of `turns`. Goes on to
    /// its end if the request is dropped, so that the entry is marked again in any case.
    pub async fn contact(
        &self,
        name: &str,
        patience: Duration,
        turns: &LongWork,
    ) -> Result<Inspection> {
        let (management, server, turns) = (self.clone(), name.to_owned(), turns.clone());
        let contact = async move { management.contact_now(&server, patience, &turns).await };
        tokio::spawn(contact).await.unwrap_or_else(|_| {
            let hint = "Try again.";
            let failure = Failure::new(ErrorCode::Internal, "the attempt was interrupted", hint);
            Err(failure.of_server(name))
        })
    }

    /// [`Management::inspect`] in a turn of `turns`, because it takes long where much is listed.
    pub async fn inspect_in_turn(&self, name: &str, turns: &LongWork) -> Result<Inspection> {
        let (management, server) = (self.clone(), name.to_owned());
        turns.run(move |_| management.inspect(&server)).await?
    }

    async fn contact_now(
        &self,
        name: &str,
        patience: Duration,
        turns: &LongWork,
    ) -> Result<Inspection> {
        let settings = self.settings()?;
        let entry = settings.servers.get(name);
        let entry = entry.filter(|entry| awaits_contact(entry));
        if let Some(entry) = entry {
            let changes = vec![by_a_person(name)];
            self.trust(entry, "permit_contact", changes, ChangeOf::this_task())
                .await?;
        }
        let attempt = async {
            self.list_anew(name, patience).await?;
            self.inspect_in_turn(name, turns).await
        };
        let seen = attempt.await;
        let missed = seen.as_ref().ok().and_then(Inspection::missed);
        if entry.is_none() {
            let seen = seen?;
            return Ok(Inspection {
                contact_error: seen.contact_error.or(missed),
                ..seen
            });
        }
        if missed.is_none() && seen.as_ref().is_ok_and(|seen| !seen.unseen) {
            return seen;
        }
        self.mark_again(name).await?;
        let attempt = seen?;
        let mut review = self.inspect_in_turn(name, turns).await?;
        let row = &mut review.server;
        review.contact_error = Some(match (attempt.server.last_error, missed) {
            (Some(why), _) => {
                (row.next_step, row.step) = (attempt.server.next_step, attempt.server.step);
                why
            }
            (None, Some(why)) => why,
            (None, None) => {
                let step = NextStep::Remove;
                (row.next_step, row.step) = (Some(step.at_terminal(name)), Some(step));
                "it lists nothing".to_owned()
            }
        });
        Ok(review)
    }

    /// Waits for the attempt under way. Connects a quarantined server once more if that was not its first one: its lists are older then.
    async fn list_anew(&self, name: &str, patience: Duration) -> Result {
        let deadline = Instant::now() + patience;
        let known = self.0.upstreams.get(name);
        let was_settled = known.is_some_and(|upstream| upstream.status().settled);
        self.settled_server(name, patience).await?;
        let settings = self.settings()?;
        let is_held = gate::is_quarantined(&settings, name);
        let upstream = self.0.upstreams.get(name).filter(|upstream| {
            let status = upstream.status();
            is_held && !status.is_beginning() && (was_settled || !status.settled)
        });
        if let Some(upstream) = upstream {
            // Its row has the result. An attempt that takes longer goes on.
            drop(timeout_at(deadline, upstream.wake()).await);
        }
        Ok(())
    }

    /// Marks the entry as an agent's again, unless a person has approved it meanwhile.
    async fn mark_again(&self, name: &str) -> Result {
        let settings = self.settings()?;
        let is_broken = settings.broken.iter().any(|broken| broken.name == name);
        if !is_broken && !gate::is_quarantined(&settings, name) {
            return Ok(());
        }
        let mark = Change::of_key(name, "changed_by", Some("agent".into()));
        let marked = self.write(ChangeOf::this_task(), "forbid_contact", vec![mark]);
        marked.await.map_err(|error| {
            let error = format!(
                "the server could not be contacted, and its entry could not be marked as an agent's again: {error}"
            );
            let hint = format!(
                "Write `\"changed_by\": \"agent\"` into the entry in {}, or remove it.",
                self.config_file().display()
            );
            Failure::new(ErrorCode::ConfigUnusable, error, hint).of_server(name)
        })
    }
}
