//! Asks the gate for tickets on behalf of requests: wakes servers whose lists must be known first, and has the record of a call say how long
//! that took and which rule refused it.

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
    /// Whether the profile of the caller's endpoint and its token have a thing. To the caller all other things do not exist.
    pub(super) fn reaches(
        &self,
        caller: &Caller,
        server: &ServerName,
        target: &Target<'_>,
    ) -> bool {
        let now = self.0.gate.now();
        now.rules().reaches(caller, server.as_str(), target)
    }

    /// Wakes a server whose lists are not known. No request of a client starts a quarantined server: the gate refuses it.
    pub(super) async fn ensure_listed(&self, server: &str) -> Result {
        if self.0.catalog.glance().servers.contains_key(server)
            || gate::is_quarantined(&self.settings(), server)
        {
            return Ok(());
        }
        match self.0.upstreams.get(server) {
            Some(upstream) => upstream.wake().await,
            // The gate refuses it and says why.
            None => Ok(()),
        }
    }

    /// The ticket that `decide` gives for this target. If it is held and its server sleeps, wakes the server and decides again: the server
    /// may have taken the change back.
    pub(super) async fn admit_awake(
        &self,
        context: &CallContext,
        (server, target): (&str, &Target<'_>),
        decide: impl Fn() -> Result<Admitted> + Send,
    ) -> Result<Admitted> {
        let admitted = match decide() {
            Err(held) if matches!(held.code, ErrorCode::ToolChanged | ErrorCode::ToolHeld) => {
                // Boxed, because it is rare.
                Box::pin(self.admit_woken(context, server, held, decide)).await
            }
            decided => decided,
        };
        self.note_denied(context, server, target, &admitted);
        admitted
    }

    /// The ticket for a held target, after its server was woken.
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

    /// Why no lists of a server are known, if it could not be connected.
    pub(super) fn absence(&self, server: &str) -> Option<Failure> {
        self.0.upstreams.get(server)?.absence()
    }

    /// [`Router::ensure_listed`], if the caller may know of the server.
    pub(super) async fn ensure_known(
        &self,
        caller: &Caller,
        server: &str,
        target: &Target<'_>,
    ) -> Result {
        self.0.gate.knows(caller, server, target)?;
        self.ensure_listed(server).await
    }

    /// [`Router::ensure_known`] for a call, whose record counts the wait.
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

    /// Notes in the record of a call which access rule refused it, or what call type its tool has, if one of them did.
    pub(super) fn note_denied<T>(
        &self,
        context: &CallContext,
        server: &str,
        target: &Target<'_>,
        decided: &Result<T>,
    ) {
        if decided.as_ref().is_err_and(|failure| {
            matches!(
                failure.code,
                ErrorCode::AccessDenied | ErrorCode::WrongVariant
            )
        }) {
            let decision = self.0.gate.denial(&context.caller, server, target);
            context.course.note_decision(decision);
        }
    }
}
