//! From a name that a caller gives to the ticket of the gate: waking a server whose lists are not known, and having the record of a call say
//! how long that took and what refused it.

use super::Router;
use crate::{
    access::Caller,
    call_context::CallContext,
    failure::{ErrorCode, Failure, Result},
    gate::{self, Admitted},
    text::names::ServerName,
    upstream::State,
    wire::Target,
};

impl Router {
    /// What the profile of the caller's endpoint and its token lack is not there.
    pub(super) fn reaches(
        &self,
        caller: &Caller,
        server: &ServerName,
        target: &Target<'_>,
    ) -> bool {
        let now = self.0.gate.now();
        now.rules().reaches(caller, server.as_str(), target)
    }

    /// Makes sure that a server's lists are known, if that takes waking it. One that waits for approval is started by no request of a client:
    /// the gate says what it is.
    pub(super) async fn ensure_listed(&self, server: &str) -> Result {
        if self.0.catalog.glance().servers.contains_key(server)
            || gate::is_quarantined(&self.settings(), server)
        {
            return Ok(());
        }
        match self.0.upstreams.get(server) {
            Some(upstream) => upstream.wake().await,
            // The gate knows why and says it better.
            None => Ok(()),
        }
    }

    /// The ticket that `decide` gives for this target, in the course of a call. What is held of a server that sleeps may have been taken back meanwhile, which only a new listing
    /// can tell: then the server is woken first.
    pub(super) async fn admit_awake(
        &self,
        context: &CallContext,
        (server, target): (&str, &Target<'_>),
        decide: impl Fn() -> Result<Admitted> + Send,
    ) -> Result<Admitted> {
        let admitted = match decide() {
            Err(held) if matches!(held.code, ErrorCode::ToolChanged | ErrorCode::ToolHeld) => {
                // Boxed, because it is seldom.
                Box::pin(self.admit_woken(context, server, held, decide)).await
            }
            decided => decided,
        };
        self.note_denied(context, server, target, &admitted);
        admitted
    }

    /// The ticket of what was held, once its server was woken, if it is one that sleeps.
    async fn admit_woken(
        &self,
        context: &CallContext,
        server: &str,
        held: Failure,
        decide: impl Fn() -> Result<Admitted> + Send,
    ) -> Result<Admitted> {
        let upstream = self.0.upstreams.get(server);
        let asleep = upstream.filter(|one| matches!(one.status().state, State::Asleep));
        let Some(asleep) = asleep else {
            return Err(held);
        };
        let woken = {
            let _waits = context.course.wait();
            asleep.wake().await
        };
        match woken {
            Ok(()) => decide(),
            Err(failure) => {
                tracing::debug!(server, %failure, "held definitions of a sleeping server could not be compared again");
                Err(held)
            }
        }
    }

    /// Why nothing is known of a server, if it could not be connected.
    pub(super) fn absence(&self, server: &str) -> Option<Failure> {
        self.0.upstreams.get(server)?.absence()
    }

    /// [`Router::ensure_listed`] for a name that a caller gave.
    pub(super) async fn ensure_known(
        &self,
        caller: &Caller,
        server: &str,
        target: &Target<'_>,
    ) -> Result {
        self.0.gate.knows(caller, server, target)?;
        self.ensure_listed(server).await
    }

    /// The same in the course of a call, which waits meanwhile.
    pub(super) async fn ensure_known_for(
        &self,
        context: &CallContext,
        server: &str,
        target: &Target<'_>,
    ) -> Result {
        let known = self.0.gate.knows(&context.caller, server, target);
        self.note_denied(context, server, target, &known);
        known?;
        if self.0.catalog.glance().servers.contains_key(server) {
            return Ok(());
        }
        let _waits = context.course.wait();
        self.ensure_listed(server).await
    }

    /// Has the record of a call that the access rules refused say which of them did.
    pub(super) fn note_denied<T>(
        &self,
        context: &CallContext,
        server: &str,
        target: &Target<'_>,
        decided: &Result<T>,
    ) {
        if decided
            .as_ref()
            .is_err_and(|failure| failure.code == ErrorCode::AccessDenied)
        {
            let decision = self.0.gate.denial(&context.caller, server, target);
            context.course.note_decision(decision);
        }
    }
}
