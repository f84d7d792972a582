//! The log levels that clients want of the upstreams: legacy clients for as long as their session lasts, others for each request. Clients
//! that share a connection share its level: the least severe of theirs is set.

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::watch;

use crate::{runtime::sync::Guarded, text::names::ServerName, wire::LogLevel};

/// The subscriptions of all clients. Cheap to clone.
#[derive(Clone, Default)]
pub struct LogSubscriptions(Arc<SharedLevels>);

#[derive(Default)]
struct SharedLevels {
    table: Guarded<Table>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Table {
    levels: BTreeMap<u64, Entry>,
    last: u64,
}

struct Entry {
    /// All servers if none is named.
    server: Option<ServerName>,
    level: LogLevel,
    term: LogTerm,
}

/// How long a subscription is meant to last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogTerm {
    /// As long as this session.
    Session(Arc<str>),
    /// For one request.
    Request,
}

/// The least severe levels that are wanted of one server over one connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::upstream) struct WantedLevels {
    pub(in crate::upstream) sessions: Option<LogLevel>,
    requests: Option<LogLevel>,
}

impl WantedLevels {
    /// The level to set, given the one that is set. Sessions decide, and a request may only want more. No request unsets a level: once
    /// nobody wants a particular one the server gets the level `debug`, because most servers log everything by default.
    pub(in crate::upstream) fn to_set(self, current: Option<LogLevel>) -> Option<LogLevel> {
        let wanted = match (self.sessions, self.requests) {
            (Some(sessions), requests) => Some(requests.map_or(sessions, |one| one.min(sessions))),
            (None, Some(requests)) => {
                Some(current.map_or(requests, |current| current.min(requests)))
            }
            (None, None) => current.map(|_| LogLevel::Debug),
        };
        wanted.filter(|wanted| current != Some(*wanted))
    }
}

/// One client's subscription, until it is dropped.
pub struct LogSubscription {
    of: LogSubscriptions,
    number: u64,
    level: LogLevel,
}

impl LogSubscription {
    /// The least severe lines that it wants.
    pub fn level(&self) -> LogLevel {
        self.level
    }
}

impl Drop for LogSubscription {
    fn drop(&mut self) {
        self.of.0.table.lock().levels.remove(&self.number);
        self.of.0.changed.send_replace(());
    }
}

impl LogSubscriptions {
    /// Subscribes a client to lines of this server, or of all, from `level` on.
    pub fn subscribe(
        &self,
        server: Option<ServerName>,
        level: LogLevel,
        term: LogTerm,
    ) -> LogSubscription {
        let mut table = self.0.table.lock();
        table.last += 1;
        let number = table.last;
        let entry = Entry {
            server,
            level,
            term,
        };
        table.levels.insert(number, entry);
        drop(table);
        self.0.changed.send_replace(());
        LogSubscription {
            of: self.clone(),
            number,
            level,
        }
    }

    /// The levels that are wanted of a server over a connection that these sessions use.
    pub(in crate::upstream) fn wanted(
        &self,
        server: &ServerName,
        uses: impl Fn(&str) -> bool,
    ) -> WantedLevels {
        let table = self.0.table.lock();
        let mut wanted = WantedLevels::default();
        for entry in table.levels.values() {
            let least = match &entry.term {
                LogTerm::Session(key) if uses(key) => &mut wanted.sessions,
                LogTerm::Session(_) => continue,
                LogTerm::Request => &mut wanted.requests,
            };
            if entry.server.as_ref().is_none_or(|of| of == server) {
                *least = Some(least.map_or(entry.level, |least| least.min(entry.level)));
            }
        }
        wanted
    }

    pub(in crate::upstream) fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_verbose_level_counts_while_its_subscription_lasts() {
        let subscriptions = LogSubscriptions::default();
        let name = |text| ServerName::parse(text).expect("a name");
        let (a, b) = (name("a"), name("b"));
        let session = |key: &str| LogTerm::Session(key.into());
        let least = |server| subscriptions.wanted(server, |_| true).sessions;
        assert_eq!(least(&a), None);
        let everywhere = subscriptions.subscribe(None, LogLevel::Error, session("x"));
        let of_a = subscriptions.subscribe(Some(a.clone()), LogLevel::Debug, session("y"));
        assert_eq!(least(&a), Some(LogLevel::Debug));
        assert_eq!(least(&b), Some(LogLevel::Error));
        let of_x = subscriptions.wanted(&a, |key| key == "x");
        assert_eq!(of_x.sessions, Some(LogLevel::Error), "another's connection");
        drop(everywhere);
        assert_eq!(least(&b), None);
        drop(of_a);
        let _request = subscriptions.subscribe(Some(a.clone()), LogLevel::Info, LogTerm::Request);
        let wanted = subscriptions.wanted(&a, |_| true);
        assert_eq!(
            (wanted.sessions, wanted.requests),
            (None, Some(LogLevel::Info))
        );
    }

    #[test]
    fn a_server_is_told_what_sessions_want_and_never_less_than_a_request_wants() {
        use LogLevel::{Debug, Error, Info, Warning};
        let check = |sessions, requests, current, expected: Option<LogLevel>| {
            let wanted = WantedLevels { sessions, requests };
            assert_eq!(wanted.to_set(current), expected, "{wanted:?} {current:?}");
        };
        check(None, None, None, None);
        check(Some(Error), None, None, Some(Error));
        check(Some(Error), None, Some(Error), None);
        check(Some(Error), None, Some(Debug), Some(Error));
        check(Some(Error), Some(Info), Some(Error), Some(Info));
        check(Some(Error), None, Some(Info), Some(Error));
        check(Some(Info), Some(Error), Some(Info), None);
        // Requests come and go: a server that says enough is left alone.
        check(None, Some(Warning), None, Some(Warning));
        check(None, Some(Warning), Some(Error), Some(Warning));
        check(None, Some(Warning), Some(Debug), None);
        // Nobody wants anything in particular any more.
        check(None, None, Some(Error), Some(Debug));
        check(None, None, Some(Debug), None);
    }
}
