//! The ticket of what was let through, and the message that is made from it. Only [`Gate`](super::Gate) makes tickets, only a
//! ticket makes messages, and an upstream sends nothing else on a caller's behalf.

use std::sync::Arc;

use super::{Variant, held_refusal};
use crate::{
    access::Caller,
    activity::GateDecision,
    catalog::Snapshot,
    config::Settings,
    failure::Failure,
    text::names::ServerName,
    trust::{
        approvals::{Hold, HoldReason, ThingKind},
        fingerprint::Fingerprint,
    },
    wire::{Edit, Raw, RpcError, Target, Thing},
};

/// What was let through: who may send what to whom. An upstream sends it only if a tool still is the one that was admitted, and the gate
/// would let it through once more.
#[derive(Debug, Clone)]
pub struct Admitted {
    caller: Caller,
    server: ServerName,
    target: Target<'static>,
    decision: GateDecision,
    is_locked: bool,
    /// As what a tool is called, where that was declared.
    variant: Option<Variant>,
    basis: Basis,
}

/// What was in force and known when something was admitted. Keeps nothing of the catalog alive, however long a call takes.
#[derive(Clone)]
struct Basis {
    settings: Arc<Settings>,
    generation: u64,
}

impl std::fmt::Debug for Basis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Basis").field(&self.generation).finish()
    }
}

/// A message as it is sent: the admitted method, and params with the admitted name in them.
#[derive(Debug)]
pub struct AdmittedMessage<'a> {
    admitted: &'a Admitted,
    params: Option<Raw>,
}

impl Admitted {
    pub(super) fn new(
        caller: &Caller,
        server: &ServerName,
        target: Target<'_>,
        decision: GateDecision,
        (settings, snapshot): (&Arc<Settings>, &Snapshot),
    ) -> Self {
        Self {
            caller: caller.clone(),
            server: server.clone(),
            target: target.into_owned(),
            decision,
            is_locked: snapshot.is_locked(),
            variant: None,
            basis: Basis {
                settings: settings.clone(),
                generation: snapshot.generation,
            },
        }
    }

    /// The same for a tool that is called as this.
    pub(super) fn declared(self, variant: Variant) -> Self {
        Self {
            variant: Some(variant),
            ..self
        }
    }

    /// As what it is called, where that was declared.
    pub(super) fn variant(&self) -> Option<Variant> {
        self.variant
    }

    /// Whether it was admitted over this very state of settings and catalog.
    pub(super) fn rests_on(&self, settings: &Arc<Settings>, snapshot: &Snapshot) -> bool {
        self.basis.generation == snapshot.generation && Arc::ptr_eq(&self.basis.settings, settings)
    }

    /// On whose behalf.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The upstream it is for.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// What is wanted, by the upstream's own name.
    pub fn target(&self) -> &Target<'static> {
        &self.target
    }

    /// The method.
    pub fn method(&self) -> &str {
        self.target.method()
    }

    /// The tool it calls, by the upstream's own name.
    pub fn tool(&self) -> Option<&str> {
        match self.target.thing() {
            Thing::Tool(name) => Some(name),
            _ => None,
        }
    }

    /// The definition that was admitted; `None` where changes are allowed.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.decision.definition
    }

    /// The decision, and the rule behind it.
    pub fn decision(&self) -> GateDecision {
        self.decision
    }

    /// The refusal of a tool whose definition is another one than was admitted: in the words of the next call, before which it is held.
    pub fn refusal_of_another(&self, admitted: Fingerprint) -> Failure {
        let reason = if self.is_locked {
            HoldReason::LockDiffers
        } else {
            HoldReason::Changed
        };
        let hold = Hold {
            reason,
            fingerprint: admitted,
        };
        let server = self.server.as_str();
        let refusal = held_refusal::refusal(server, self.target.thing(), ThingKind::Tool, hold);
        refusal.of_server(server)
    }

    /// The message to send: `params` with the admitted name in place of the client's and with `edits`, everything else as the
    /// client wrote it. `edits` are of other members than that which names the target.
    pub fn message(
        &self,
        params: Option<&Raw>,
        edits: &[(&str, Edit<'_>)],
    ) -> Result<AdmittedMessage<'_>, RpcError> {
        let params = self.target.params(params, edits);
        let params = params.map_err(|_| {
            RpcError::invalid_params(
                "nothing ran: \"params\" is not an object; correct that and send it again",
            )
        })?;
        Ok(AdmittedMessage {
            admitted: self,
            params,
        })
    }
}

impl<'a> AdmittedMessage<'a> {
    /// What lets it through.
    pub fn admitted(&self) -> &'a Admitted {
        self.admitted
    }

    /// The method.
    pub fn method(&self) -> &'a str {
        self.admitted.method()
    }

    /// The params.
    pub fn params(&self) -> Option<&Raw> {
        self.params.as_ref()
    }
}
