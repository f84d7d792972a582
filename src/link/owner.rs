//! Whose a connection is: of the one client that has ever used it, or nobody's. What a server asks or logs there without naming a
//! request belongs to that client or to none. Without a clock: a server may ask and log long after it has answered.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

/// The identity of a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ClientKey {
    /// Its session.
    Session(Arc<str>),
    /// Its connection to us, where it has no session.
    Connection {
        /// No other connection has it.
        number: u64,
        /// Whose requests they are.
        subject: Arc<str>,
    },
    /// What is known of its requests, where a proxy's connection carries those of several clients.
    Named {
        /// Whose requests they are.
        subject: Arc<str>,
        /// What the client calls itself.
        name: Arc<str>,
    },
}

impl ClientKey {
    /// Whether both are connections of one caller: over HTTP a client without a session may have several.
    pub fn is_kin_of(&self, other: &Self) -> bool {
        matches!(
            (self, other),
            (Self::Connection { subject, .. }, Self::Connection { subject: same, .. }) if subject == same
        )
    }
}

/// The owner of one connection. It has none before its first call, and none any more once a second client has called.
#[derive(Debug, Default)]
pub struct ConnectionOwner {
    first: OnceLock<ClientKey>,
    has_several: AtomicBool,
    /// A client here wants log lines, which it gets only as long as it is alone.
    wants_lines: AtomicBool,
}

/// What a call of a client makes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// Its client owns the connection from now on.
    First,
    /// Its client owns the connection.
    Owner,
    /// The connection is nobody's.
    Several,
    /// The call must not be sent: one of its users would lose log lines.
    LosesLines,
}

impl ConnectionOwner {
    /// Notes a call of this client, before it is sent. With `keeps_lines`, clients that want log lines share with nobody.
    pub fn enter(&self, client: &ClientKey, wants_lines: bool, keeps_lines: bool) -> Entered {
        if wants_lines {
            self.wants_lines.store(true, Ordering::SeqCst);
        }
        let mut entered = Entered::Owner;
        let first = self.first.get_or_init(|| {
            entered = Entered::First;
            client.clone()
        });
        // Of an owner that wants lines from now on and a second client, at least one sees the other.
        let loses_lines = || keeps_lines && self.wants_lines.load(Ordering::SeqCst);
        if first != client {
            if loses_lines() {
                return Entered::LosesLines;
            }
            self.has_several.store(true, Ordering::SeqCst);
        }
        if !self.has_several.load(Ordering::SeqCst) {
            entered
        } else if loses_lines() {
            Entered::LosesLines
        } else {
            Entered::Several
        }
    }

    /// The client whose connection this is.
    pub fn client(&self) -> Option<&ClientKey> {
        let is_alone = !self.has_several.load(Ordering::SeqCst);
        self.first.get().filter(|_| is_alone)
    }

    /// The owner wants log lines, whether it calls or not.
    pub fn note_wants_lines(&self) {
        self.wants_lines.store(true, Ordering::SeqCst);
    }

    /// Whether a log line that comes now and names no request is lost to a client that wants it.
    pub fn loses_lines(&self) -> bool {
        self.has_several.load(Ordering::SeqCst) && self.wants_lines.load(Ordering::SeqCst)
    }

    /// Why what names no request is nobody's, if it is.
    pub(super) fn unowned(&self) -> Option<Unattributed> {
        if self.has_several.load(Ordering::SeqCst) {
            Some(Unattributed::Several)
        } else {
            self.first.get().is_none().then_some(Unattributed::Nobody)
        }
    }
}

/// Why something was given to nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unattributed {
    /// The connection has no owner yet.
    #[error("no client has used this connection")]
    Nobody,
    /// It has none any more.
    #[error("several clients have used this connection, and the message names none of them")]
    Several,
    /// The owner waits for nothing.
    #[error("its client has no running call")]
    NoCall,
    /// The call that it belongs to reads too slowly.
    #[error("too many questions wait for an answer")]
    TooMany,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients() -> [ClientKey; 5] {
        let (s, t, n) = (Arc::from("s"), Arc::from("t"), Arc::from("n"));
        let connection = |number, subject: &Arc<str>| ClientKey::Connection {
            number,
            subject: Arc::clone(subject),
        };
        [
            ClientKey::Session(Arc::clone(&s)),
            connection(1, &s),
            connection(2, &s),
            connection(1, &t),
            ClientKey::Named {
                subject: s,
                name: n,
            },
        ]
    }

    #[test]
    fn a_connection_is_its_only_users_and_then_nobodys_for_ever() {
        for one in clients() {
            for other in clients().iter().filter(|other| **other != one) {
                let owner = ConnectionOwner::default();
                assert_eq!(owner.unowned(), Some(Unattributed::Nobody));
                assert_eq!(owner.enter(&one, false, true), Entered::First);
                assert_eq!(owner.enter(&one, false, true), Entered::Owner);
                assert_eq!((owner.client(), owner.unowned()), (Some(&one), None));
                for client in [other, &one, &one] {
                    assert_eq!(owner.enter(client, false, true), Entered::Several);
                    assert_eq!(owner.client(), None);
                    assert_eq!(owner.unowned(), Some(Unattributed::Several));
                }
            }
        }
    }

    #[test]
    fn who_wants_log_lines_shares_with_nobody_where_they_are_kept() {
        use Entered::{First, LosesLines, Owner, Several};
        let [one, other, ..] = clients();
        let check = |calls: &[(&ClientKey, bool)], keeps, expected: &[Entered]| {
            let owner = ConnectionOwner::default();
            let enter = |(client, wants): &(&ClientKey, bool)| owner.enter(client, *wants, keeps);
            let entered: Vec<_> = calls.iter().map(enter).collect();
            assert_eq!(entered, expected, "{calls:?}");
            owner
        };
        // The owner keeps its connection.
        let owner = check(
            &[(&one, true), (&other, false), (&one, true)],
            true,
            &[First, LosesLines, Owner],
        );
        assert!(owner.client() == Some(&one) && !owner.loses_lines());
        check(&[(&one, false), (&other, true)], true, &[First, LosesLines]);
        check(
            &[(&one, false), (&other, false), (&one, true)],
            true,
            &[First, Several, LosesLines],
        );
        // Where lines come on the streams of calls, most are nobody's loss.
        let owner = check(&[(&one, true), (&other, false)], false, &[First, Several]);
        assert!(owner.loses_lines());
        let owner = check(&[(&one, false)], true, &[First]);
        owner.note_wants_lines();
        assert_eq!(owner.enter(&other, false, true), LosesLines);
    }
}
