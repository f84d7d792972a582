//! From which level on legacy clients want log lines of the upstreams. All share an upstream's connection, so it is told the least
//! grave of them.

use std::{
    collections::BTreeMap,
    sync::{Arc, MutexGuard},
};

use tokio::sync::watch;

use crate::{names::ServerName, sync::Guarded, wire::LogLevel};

/// The wishes of all clients. Cheap to clone.
#[derive(Clone, Default)]
pub struct LogSubscriptions(Arc<Parts>);

#[derive(Default)]
struct Parts {
    table: Guarded<Table>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Table {
    wishes: BTreeMap<u64, (Option<ServerName>, LogLevel)>,
    last: u64,
}

/// One client's wish, until it is dropped.
pub struct LogSubscription {
    of: LogSubscriptions,
    number: u64,
    level: LogLevel,
}

impl LogSubscription {
    /// The least grave lines that it wants.
    pub fn level(&self) -> LogLevel {
        self.level
    }
}

impl Drop for LogSubscription {
    fn drop(&mut self) {
        self.of.lock().wishes.remove(&self.number);
        self.of.0.changed.send_replace(());
    }
}

impl LogSubscriptions {
    /// A client wants lines of this server, or of all, from `level` on.
    pub fn wish(&self, server: Option<ServerName>, level: LogLevel) -> LogSubscription {
        let mut table = self.lock();
        table.last += 1;
        let number = table.last;
        table.wishes.insert(number, (server, level));
        drop(table);
        self.0.changed.send_replace(());
        LogSubscription {
            of: self.clone(),
            number,
            level,
        }
    }

    /// The least grave lines of a server that anybody wants; nothing if nobody said.
    pub(super) fn least(&self, server: &ServerName) -> Option<LogLevel> {
        let table = self.lock();
        let wishes = table.wishes.values();
        let concerning = wishes.filter(|(of, _)| of.as_ref().is_none_or(|of| of == server));
        concerning.map(|(_, level)| *level).min()
    }

    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_grave_wish_counts_while_it_lasts() {
        let wishes = LogSubscriptions::default();
        let name = |text| ServerName::parse(text).expect("a name");
        let (a, b) = (name("a"), name("b"));
        assert_eq!(wishes.least(&a), None);
        let everywhere = wishes.wish(None, LogLevel::Error);
        let _of_a = wishes.wish(Some(a.clone()), LogLevel::Debug);
        assert_eq!(wishes.least(&a), Some(LogLevel::Debug));
        assert_eq!(wishes.least(&b), Some(LogLevel::Error));
        drop(everywhere);
        assert_eq!(wishes.least(&b), None);
    }
}
