//! A first contact with a server whose entry an agent wrote, because a person wants to see what it lists: the entry is marked as a
//! person's, which has it connected, and what it lists is waited for and looked at. If nothing comes of it, the entry is marked as the
//! agent's again, so that it is neither contacted nor filled in from then on.

use std::time::Duration;

use super::{Inspection, Management, inspection::awaits_contact, patching::by_a_person};
use crate::{
    config::{Change, ChangeOf},
    failure::{ErrorCode, Failure, Result},
    gate,
    runtime::long_work::LongWork,
};

impl Management {
    /// Has a quarantined server connected for listing although an agent wrote its entry: a person asked for it. Returns what is known then.
    /// Goes on to its end when whoever asked leaves, so that no entry stays unmarked by accident.
    /// What it lists is looked at in a turn of `turns`.
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

    /// [`Management::inspect`], which takes long where much is listed.
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
        let Some(entry) = entry.filter(|entry| awaits_contact(entry)) else {
            self.list_once(name, patience).await?;
            return self.inspect_in_turn(name, turns).await;
        };
        let changes = vec![by_a_person(name)];
        self.trust(entry, "permit_contact", changes, ChangeOf::this_task())
            .await?;
        let settled = self.settled_server(name, patience).await;
        let seen = match settled {
            Ok(_) => self.inspect_in_turn(name, turns).await,
            Err(failure) => Err(failure),
        };
        if seen.is_ok() && self.lists_something(name).unwrap_or(false) {
            return seen;
        }
        self.mark_again(name).await?;
        let attempt = seen?;
        let why = attempt.server.last_error.clone();
        let why = why.unwrap_or_else(|| {
            let why = if attempt.inspected {
                "it lists nothing"
            } else {
                "it listed nothing in time"
            };
            why.to_owned()
        });
        Ok(Inspection {
            contact_error: Some(why),
            ..self.inspect_in_turn(name, turns).await?
        })
    }

    /// Has a server that waits for approval tried once more if its attempt came to nothing, as a person asks. Of any other the attempt is
    /// waited for that is under way.
    async fn list_once(&self, name: &str, patience: Duration) -> Result {
        let settings = self.settings()?;
        let is_held = gate::is_quarantined(&settings, name);
        let upstream = self.0.upstreams.get(name);
        match upstream.filter(|upstream| is_held && upstream.status().has_failed()) {
            // What came of it, its row says. An attempt that takes longer goes on.
            Some(upstream) => drop(tokio::time::timeout(patience, upstream.wake()).await),
            None => drop(self.settled_server(name, patience).await?),
        }
        Ok(())
    }

    /// Whether there is anything of a server that a person could look at.
    fn lists_something(&self, name: &str) -> Result<bool> {
        let view = self.view()?;
        let entry = view.settings.servers.get(name);
        let listed = view.listed(name, entry.map(AsRef::as_ref));
        Ok(listed.is_some_and(|listed| {
            !(listed.tools.is_empty()
                && listed.prompts.is_empty()
                && listed.resources.is_empty()
                && listed.templates.is_empty())
        }))
    }

    /// Says again that an agent wrote the entry, unless somebody has decided about it meanwhile.
    async fn mark_again(&self, name: &str) -> Result {
        let settings = self.settings()?;
        let is_broken = settings.broken.iter().any(|broken| broken.name == name);
        if !is_broken && !gate::is_quarantined(&settings, name) {
            return Ok(());
        }
        let mark = Change::of_key(name, "changed_by", Some("agent".into()));
        let marked = self.write(ChangeOf::this_task(), "forbid_contact", vec![mark]);
        match marked.await {
            Ok(()) => Ok(()),
            Err(error) => {
                let error = format!(
                    "the server could not be contacted, and its entry could not be marked as an agent's again: {error}"
                );
                let hint = format!(
                    "Write `\"changed_by\": \"agent\"` into the entry in {}, or remove it.",
                    self.config_file().display()
                );
                Err(Failure::new(ErrorCode::ConfigUnusable, error, hint).of_server(name))
            }
        }
    }
}
