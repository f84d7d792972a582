//! What the limits of an issued token leave of what the access rules let through. Pure. They hold on every way in, and are never wider than
//! the rules.

use super::{Refusal, Rules, Variant, explained::beyond, permission::names_nothing};
use crate::{
    access::{Caller, ShownToken},
    config::{AllowedCalls, IssuedToken, Settings},
    failure::Failure,
    wire::{Target, Thing, method},
};

impl<'a> Rules<'a> {
    /// Whether the caller's token lets it have this of a server. What lies outside of its servers is as if it were not there.
    pub(super) fn check_token<'t>(
        self,
        caller: &Caller,
        server: &str,
        target: &'t Target<'_>,
    ) -> Result<(), Refusal<'t>>
    where
        'a: 't,
    {
        let denied = || Refusal::Denied(target.thing().clone());
        let token = match caller.token(self.settings) {
            ShownToken::None => return Ok(()),
            ShownToken::Gone => return Err(denied()),
            ShownToken::Limits(token) => token,
        };
        self.check_reach(token, server, target)?;
        if self.may_call(token, server, target) {
            Ok(())
        } else {
            Err(Refusal::BeyondToken(target.thing().clone(), token))
        }
    }

    /// Why the caller's token keeps a tool of our own from it; nothing where it does not.
    pub(super) fn beyond_token(self, caller: &Caller, name: &str) -> Option<Failure> {
        match caller.token(self.settings) {
            ShownToken::Limits(token) if !self.token_permits_built_in(caller, name) => {
                Some(beyond(token).of_tool(name))
            }
            _ => None,
        }
    }

    /// What the caller's token may only do, where that is not everything.
    pub fn only_calls(self, caller: &Caller) -> Option<AllowedCalls> {
        match caller.token(self.settings) {
            ShownToken::Limits(token) => Some(token.calls).filter(|one| *one != AllowedCalls::All),
            ShownToken::None | ShownToken::Gone => None,
        }
    }

    /// Whether the servers and the profile of the caller's token have a thing. One that is gone is refused elsewhere.
    pub(super) fn token_reaches(self, caller: &Caller, server: &str, target: &Target<'_>) -> bool {
        match caller.token(self.settings) {
            ShownToken::Limits(token) => self.check_reach(token, server, target).is_ok(),
            ShownToken::None | ShownToken::Gone => true,
        }
    }

    fn check_reach<'t>(
        self,
        token: &IssuedToken,
        server: &str,
        target: &'t Target<'_>,
    ) -> Result<(), Refusal<'t>>
    where
        'a: 't,
    {
        if let Some(servers) = &token.servers
            && !servers.iter().any(|name| name == server)
        {
            return Err(Refusal::NoEntry(None));
        }
        self.check_profile(token.profile.as_deref(), server, target)
    }

    /// Whether it is no more than the token may do. What is not known may do anything.
    fn may_call(self, token: &IssuedToken, server: &str, target: &Target<'_>) -> bool {
        let needed = match target.thing() {
            Thing::Prompt(_) | Thing::Resource(_) => AllowedCalls::Read,
            Thing::Tool(name) => match self.snapshot.tool(server, name) {
                Some(tool) => needed(self.call_with(server, tool)),
                None => AllowedCalls::All,
            },
            Thing::Task(_) => match target.method() {
                method::TASKS_GET | method::TASKS_RESULT | method::LISTEN => AllowedCalls::Read,
                _ => AllowedCalls::Write,
            },
            Thing::Nothing if names_nothing(target.method()) => AllowedCalls::Read,
            Thing::Nothing => AllowedCalls::All,
        };
        needed <= token.calls
    }

    /// Whether the caller's token lets it use a tool of our own. Those that only pass calls on are decided by what they call.
    pub(super) fn token_permits_built_in(self, caller: &Caller, name: &str) -> bool {
        let needed = match name {
            "call_tool_write" => AllowedCalls::Write,
            "call_tool_destructive" => AllowedCalls::All,
            _ => AllowedCalls::Read,
        };
        match caller.token(self.settings) {
            ShownToken::None => true,
            ShownToken::Gone => false,
            ShownToken::Limits(token) => needed <= token.calls,
        }
    }
}

/// Whether the caller's token lets it change servers: they do everything that their tools can do, and all clients use them. One with a
/// profile may not see a server whole.
pub fn may_manage(caller: &Caller, settings: &Settings) -> bool {
    match caller.token(settings) {
        ShownToken::None => true,
        ShownToken::Gone => false,
        ShownToken::Limits(token) => token.calls == AllowedCalls::All && token.profile.is_none(),
    }
}

fn needed(variant: Variant) -> AllowedCalls {
    match variant {
        Variant::Read => AllowedCalls::Read,
        Variant::Write => AllowedCalls::Write,
        Variant::Destructive => AllowedCalls::All,
    }
}
