//! Who sees the same: the key under which lists are made once for many callers.

use super::Rules;
use crate::{
    access::{Caller, ShownToken, acl::RulesFor},
    trust::fingerprint::Fingerprint,
    wire::Raw,
};

/// What of the servers a caller sees. Two callers with equal keys get the same answer to every question that lists and searches ask
/// of the gate, as long as settings and catalog stay the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViewKey {
    /// No rule distinguishes callers.
    Everyone,
    /// Those whom the same rules concern, on endpoints of the same profile, by tokens with the same limits: a digest of all three.
    Those(Fingerprint),
}

impl Rules<'_> {
    /// The key of what this caller sees.
    pub fn view(self, caller: &Caller) -> ViewKey {
        let auth = self.settings.server_auth.as_ref();
        let limits = match caller.token(self.settings) {
            ShownToken::None => None,
            ShownToken::Gone => Some(None),
            ShownToken::Limits(token) => Some(Some((&token.servers, &token.profile, token.calls))),
        };
        if caller.profile().is_none() && auth.is_none() && limits.is_none() {
            return ViewKey::Everyone;
        }
        let is_current = caller.is_current(self.settings);
        let acl = auth.and_then(|auth| auth.acl.as_ref());
        let rules: Vec<usize> = match acl {
            Some(acl) => {
                let roles = caller.roles(self.settings);
                let own = RulesFor::new(acl, caller.subject(), roles).rules();
                own.map(|(place, _)| place).collect()
            }
            None => Vec::new(),
        };
        let seen = (
            caller.profile(),
            is_current || auth.is_none(),
            rules,
            limits,
        );
        ViewKey::Those(Fingerprint::of_value(&Raw::author(&seen)))
    }
}
