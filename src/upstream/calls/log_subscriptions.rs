//! From which level on legacy clients want log lines of the upstreams. All share an upstream's connection, so it is told the least
//! severe of these levels.

use std::{
    collections::BTreeMap,
    sync::{Arc, MutexGuard},
};

use tokio::sync::watch;

use crate::{names::ServerName, sync::Guarded, wire::LogLevel};

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
    levels: BTreeMap<u64, (Option<ServerName>, LogLevel)>,
    last: u64,
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
        self.of.lock().levels.remove(&self.number);
        self.of.0.changed.send_replace(());
    }
}

impl LogSubscriptions {
    /// A client wants lines of this server, or of all, from `level` on.
    pub fn subscribe(&self, server: Option<ServerName>, level: LogLevel) -> LogSubscription {
        let mut table = self.lock();
        table.last += 1;
        let number = table.last;
        table.levels.insert(number, (server, level));
        drop(table);
        self.0.changed.send_replace(());
        LogSubscription {
            of: self.clone(),
            number,
            level,
        }
    }

    /// The level of the least severe lines of a server that anybody wants; nothing if nobody said.
    pub(in crate::upstream) fn least(&self, server: &ServerName) -> Option<LogLevel> {
        let table = self.lock();
        let levels = table.levels.values();
        let concerning = levels.filter(|(of, _)| of.as_ref().is_none_or(|of| of == server));
        concerning.map(|(_, level)| *level).min()
    }

    pub(in crate::upstream) fn changes(&self) -> watch::Receiver<()> {
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
    fn the_most_verbose_level_counts_while_its_subscription_lasts() {
        let subscriptions = LogSubscriptions::default();
        let name = |text| ServerName::parse(text).expect("a name");
        let (a, b) = (name("a"), name("b"));
        assert_eq!(subscriptions.least(&a), None);
        let everywhere = subscriptions.subscribe(None, LogLevel::Error);
        let _of_a = subscriptions.subscribe(Some(a.clone()), LogLevel::Debug);
        assert_eq!(subscriptions.least(&a), Some(LogLevel::Debug));
        assert_eq!(subscriptions.least(&b), Some(LogLevel::Error));
        drop(everywhere);
        assert_eq!(subscriptions.least(&b), None);
    }
}
