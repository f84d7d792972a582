//! Whether a person has to log in to a server, and what changes that. Pure.

use super::renewal_pauses::LoginTrouble;

/// Whether a person has to log in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LoginStatus {
    /// Nothing is known against it.
    #[default]
    Fine,
    /// The server takes no request without, for this reason.
    Needed(String),
    /// The server takes requests, and refused some for want of these scopes.
    MoreScopes(Vec<String>),
    /// The server takes no request, and a person cannot mend that: the login is there, and is renewed again by itself.
    Stuck(LoginTrouble),
}

/// What may change whether a person has to log in.
#[derive(Clone)]
pub(super) enum LoginEvent {
    /// A person has to log in, for this reason.
    Needed(String),
    /// The login does not work for now.
    Stuck(LoginTrouble),
    /// The server refused a call for want of scopes.
    Wanting,
    /// The server took a connection: whatever it wanted before, it does not want now.
    Connected,
    /// The login works again, as far as is known.
    Works,
}

impl LoginStatus {
    /// The status after an event, where calls were refused for want of the scopes `wanted`. A needed login outweighs one that does not
    /// work for now, and that outweighs scopes.
    pub(super) fn after(&self, event: LoginEvent, wanted: &[String]) -> Self {
        let working = match wanted {
            [] => Self::Fine,
            wanted => Self::MoreScopes(wanted.to_vec()),
        };
        match (self, event) {
            (_, LoginEvent::Needed(reason)) => Self::Needed(reason),
            (Self::Needed(_), LoginEvent::Connected)
            | (Self::Stuck(_), LoginEvent::Works)
            | (Self::Fine | Self::MoreScopes(_), LoginEvent::Wanting) => working,
            (Self::Fine | Self::MoreScopes(_) | Self::Stuck(_), LoginEvent::Stuck(trouble)) => {
                Self::Stuck(trouble)
            }
            (before, _) => before.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn what_is_worse_stays_until_it_is_over() {
        let trouble = |why: &str| LoginTrouble {
            why: why.to_owned(),
            until: Instant::now(),
        };
        let (first, second) = (trouble("first"), trouble("second"));
        let wanted = ["s".to_owned()];
        let (fine, more) = (LoginStatus::Fine, LoginStatus::MoreScopes(wanted.to_vec()));
        let stuck = LoginStatus::Stuck(first);
        let again = LoginStatus::Stuck(second.clone());
        let needed = LoginStatus::Needed("a".to_owned());
        let other = LoginStatus::Needed("b".to_owned());
        for (event, expected) in [
            (
                LoginEvent::Needed("b".to_owned()),
                [&other, &other, &other, &other],
            ),
            (LoginEvent::Stuck(second), [&again, &again, &again, &needed]),
            (LoginEvent::Wanting, [&more, &more, &stuck, &needed]),
            (LoginEvent::Connected, [&fine, &more, &stuck, &more]),
            (LoginEvent::Works, [&fine, &more, &more, &needed]),
        ] {
            for (before, expected) in [&fine, &more, &stuck, &needed].into_iter().zip(expected) {
                assert_eq!(before.after(event.clone(), &wanted), *expected);
            }
        }
        assert_eq!(needed.after(LoginEvent::Connected, &[]), fine);
        assert_eq!(stuck.after(LoginEvent::Works, &[]), fine);
    }
}
