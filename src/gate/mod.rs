//! The one place that decides what a caller may have of an upstream.
//!
//! [`Gate::admit`] is the only maker of [`Admitted`], and `upstream` sends nothing on a caller's behalf but what was made from one:
//! a new face (REST, a script, a built-in tool) cannot forget a check or send something else, it would not compile. What waited is
//! checked once more before it is sent ([`Gate::renew`]). Lists and searches use the same [`Rules`].

mod classify;
mod explained;
mod held;
mod held_refusal;
mod permission;
mod rules;
mod standing;
mod ticket;
mod token_limits;
mod variant;
mod view;

use std::sync::Arc;

use tokio::sync::watch;

use self::rules::Refusal;
pub use self::{
    classify::{Effect, effect},
    rules::{Rules, ServerRules},
    standing::{
        Standing, Switches, awaits_approval, is_quarantined, policies, policy, standing, switches,
    },
    ticket::{Admitted, AdmittedMessage},
    token_limits::may_manage,
    variant::Variant,
    view::ViewKey,
};
use crate::{
    access::Caller,
    activity::{DecidedAccess, GateDecision},
    catalog::{Catalog, ServerCatalog, Snapshot},
    config::Settings,
    failure::Result,
    wire::Target,
};

/// Decides over what is in force and known now. Cheap to clone.
#[derive(Clone)]
pub struct Gate {
    settings: watch::Receiver<Arc<Settings>>,
    catalog: Catalog,
}

/// Everything that decisions rest on, at one moment.
#[derive(Clone)]
pub struct Moment {
    settings: Arc<Settings>,
    snapshot: Arc<Snapshot>,
}

impl Gate {
    /// A gate over the settings in force and what the servers offer.
    pub fn new(settings: watch::Receiver<Arc<Settings>>, catalog: Catalog) -> Self {
        Self { settings, catalog }
    }

    /// A snapshot of what decisions rest on: for many decisions that must agree with each other.
    pub fn now(&self) -> Moment {
        Moment {
            settings: self.settings(),
            snapshot: self.catalog.snapshot(),
        }
    }

    /// The same as this caller's client sees it.
    pub fn now_for(&self, caller: &Caller) -> Moment {
        Moment {
            settings: self.settings(),
            snapshot: self.catalog.seen_by(caller).clone(),
        }
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.borrow().clone()
    }

    /// Whether `caller` may have what it wants of `server`, and why not.
    pub fn decide(&self, caller: &Caller, server: &str, target: &Target<'_>) -> Result {
        self.with_rules(caller, |rules| rules.decide(caller, server, target))
    }

    /// [`Gate::decide`], and the ticket.
    pub fn admit(&self, caller: &Caller, server: &str, target: Target<'_>) -> Result<Admitted> {
        let (settings, snapshot) = (self.settings(), self.catalog.seen_by(caller));
        ticket((&settings, &snapshot), caller, server, target)
    }

    /// [`Gate::admit`] for a tool that is called as `variant`.
    pub fn admit_as(
        &self,
        caller: &Caller,
        variant: Variant,
        server: &str,
        tool: &str,
    ) -> Result<Admitted> {
        let (settings, snapshot) = (self.settings(), self.catalog.seen_by(caller));
        let ticket = ticket((&settings, &snapshot), caller, server, Target::tool(tool))?;
        Rules::new(&settings, &snapshot).check_variant(variant, server, tool)?;
        Ok(ticket.declared(variant))
    }

    /// Whether what was admitted may still be had, and why not. While it waited, a definition may have become another, a rule may have been
    /// added, or a credential taken away. Where nothing of the kind happened this is two comparisons.
    pub fn renew(&self, admitted: &Admitted) -> Result {
        let caller = admitted.caller();
        let (settings, snapshot) = (self.settings(), self.catalog.seen_by(caller));
        if admitted.rests_on(&settings, &snapshot) {
            return Ok(());
        }
        let rules = Rules::new(&settings, &snapshot);
        let server = admitted.server().as_str();
        rules.decide(caller, server, admitted.target())?;
        match (admitted.variant(), admitted.tool()) {
            (Some(variant), Some(tool)) => rules.check_variant(variant, server, tool),
            _ => Ok(()),
        }
    }

    /// Whether the scanner lets through what one connection lists of the admitted thing, where that is not what is known of the server: what
    /// an instance of it lists is in no ledger. Of tools their fingerprints decide.
    pub fn check_listed(&self, admitted: &Admitted, listed: &ServerCatalog) -> Result {
        self.with_rules(admitted.caller(), |rules| {
            rules.check_listed(admitted, listed)
        })
    }

    /// Whether a server of this name may be used, and something of it is for this caller.
    pub fn offers(&self, caller: &Caller, server: &str) -> bool {
        self.with_rules(caller, |rules| rules.offers(caller, server))
    }

    /// Whether a server of this name is configured properly, usable or not, and the access rules let the caller have this of it; if not,
    /// why.
    pub fn knows(&self, caller: &Caller, server: &str, target: &Target<'_>) -> Result {
        self.with_rules(caller, |rules| {
            rules.entry(caller, server, target).map(drop)
        })
    }

    /// What was decided of a request that was refused: all of it if only its call type was, else what of the access rules keeps this from
    /// the caller, or that only its token does.
    pub fn denial(&self, caller: &Caller, server: &str, target: &Target<'_>) -> GateDecision {
        self.with_rules(caller, |rules| match rules.admit(caller, server, target) {
            Ok((_, decision)) => decision,
            Err(_) => GateDecision {
                access: match rules.permit(caller, server, target) {
                    Err(Refusal::BeyondToken(..)) => DecidedAccess::Token,
                    _ => rules.deciding(caller, server, target),
                },
                definition: None,
                call_with: None,
            },
        })
    }

    /// Whether a caller may use a tool of our own; if not, why.
    pub fn admit_built_in(&self, caller: &Caller, tool: &str) -> Result {
        self.with_rules(caller, |rules| rules.decide_built_in(caller, tool))
    }

    /// Settings and catalog are not held beyond this. Nobody who wants to replace them waits for it meanwhile.
    fn with_rules<T>(&self, caller: &Caller, decide: impl FnOnce(Rules<'_>) -> T) -> T {
        decide(Rules::new(&self.settings(), &self.catalog.seen_by(caller)))
    }
}

/// The ticket for this of the server, if the rules let it through.
fn ticket(
    (settings, snapshot): (&Arc<Settings>, &Snapshot),
    caller: &Caller,
    server: &str,
    target: Target<'_>,
) -> Result<Admitted> {
    let rules = Rules::new(settings, snapshot);
    let (name, decision) = rules.admit(caller, server, &target)?;
    let basis = (settings, snapshot);
    Ok(Admitted::new(caller, name, target, decision, basis))
}

impl Moment {
    /// What decides over it.
    pub fn rules(&self) -> Rules<'_> {
        Rules::new(&self.settings, &self.snapshot)
    }

    /// The settings of the moment.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// What was known at the moment.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Whether nothing that decisions rest on lies between both.
    pub fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.settings, &other.settings) && Arc::ptr_eq(&self.snapshot, &other.snapshot)
    }
}
