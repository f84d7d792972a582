//! The queue of events that wait for the writer, bounded in number and bytes. Events that find no room are counted, so that the log can say how
//! many are missing.

use super::event::ActivityEvent;

/// Limit: events that wait. At ten thousand calls a second that is one second.
const MOST: usize = 10_000;

/// Limit: bytes of params, results and names that they hold.
const MOST_BYTES: usize = 16 << 20;

/// The events, and their bytes, from which on the writer must not wait for more.
const ENOUGH: usize = 2_048;
const ENOUGH_BYTES: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct ActivityQueue {
    events: Vec<ActivityEvent>,
    /// The number of events, from the first on, that keep no message alive.
    detached: usize,
    /// The number of events that are lent.
    lent: usize,
    bytes: usize,
    /// The events that found no room since the writer took the others.
    shed: u64,
    /// All events since the start.
    pushed: u64,
    is_closed: bool,
}

/// Whether the writer must be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alarm {
    /// No: it was woken before.
    None,
    /// Yes: an event waits.
    Something,
    /// Yes: so many events wait that it must not wait for more.
    Much,
}

/// What the writer takes from the queue.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) events: Vec<ActivityEvent>,
    pub(super) shed: u64,
}

impl ActivityQueue {
    pub(super) fn push(&mut self, event: ActivityEvent) -> Alarm {
        let size = event.what.held_bytes();
        if self.is_closed {
            return Alarm::None;
        }
        self.pushed += 1;
        if self.events.len() + self.lent >= MOST || self.bytes + size > MOST_BYTES {
            self.shed += 1;
            return Alarm::None;
        }
        let was_enough = self.has_enough();
        let was_empty = self.events.is_empty();
        self.bytes += size;
        self.events.push(event);
        match (was_empty, self.has_enough() && !was_enough) {
            (_, true) => Alarm::Much,
            (true, false) => Alarm::Something,
            (false, false) => Alarm::None,
        }
    }

    /// Takes all events.
    pub(super) fn take(&mut self) -> Waiting {
        self.bytes = 0;
        self.detached = 0;
        // With the capacity that was needed this time.
        let room = Vec::with_capacity(self.events.len());
        Waiting {
            events: std::mem::replace(&mut self.events, room),
            shed: std::mem::take(&mut self.shed),
        }
    }

    /// Lends the events that are not detached. They must be given back before anything is taken.
    pub(super) fn lend(&mut self) -> Vec<ActivityEvent> {
        let lent = self.events.split_off(self.detached);
        self.lent = lent.len();
        lent
    }

    /// Takes back the lent events, which are detached now, in their places.
    pub(super) fn give_back(&mut self, mut lent: Vec<ActivityEvent>) {
        let newer = self.events.split_off(self.detached);
        self.events.append(&mut lent);
        self.detached = self.events.len();
        self.events.extend(newer);
        self.lent = 0;
    }

    /// The number of events since the start.
    pub(super) fn pushed(&self) -> u64 {
        self.pushed
    }

    /// The number of events that found no room since the last [`ActivityQueue::take`].
    pub(super) fn shed(&self) -> u64 {
        self.shed
    }

    /// Drops all further events: the writer has ended.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    fn has_enough(&self) -> bool {
        self.events.len() >= ENOUGH || self.bytes >= ENOUGH_BYTES
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::activity::event::{EventKind, OperatorChange, TouchedThing};

    fn event() -> ActivityEvent {
        ActivityEvent {
            time: SystemTime::UNIX_EPOCH,
            what: EventKind::Change(Box::default()),
        }
    }

    #[test]
    fn the_writer_is_told_of_the_first_and_of_many() {
        let mut queue = ActivityQueue::default();
        let alarms: Vec<Alarm> = (0..ENOUGH + 2).map(|_| queue.push(event())).collect();
        assert_eq!((alarms[0], alarms[1]), (Alarm::Something, Alarm::None));
        assert_eq!(
            (alarms[ENOUGH - 1], alarms[ENOUGH]),
            (Alarm::Much, Alarm::None)
        );
        assert_eq!(queue.take().events.len(), ENOUGH + 2);
        assert_eq!(queue.push(event()), Alarm::Something);
    }

    #[test]
    fn what_is_lent_comes_back_in_its_place() {
        let numbered = |number: u64| ActivityEvent {
            time: SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number),
            ..event()
        };
        let mut queue = ActivityQueue::default();
        for number in 0..6 {
            queue.push(numbered(number));
            if number % 2 == 1 {
                let lent = queue.lend();
                assert_eq!(lent.len(), 2, "each is lent once");
                queue.push(numbered(100 + number));
                queue.give_back(lent);
                let late = queue.lend();
                assert_eq!(late.len(), 1);
                queue.give_back(late);
            }
        }
        let seconds = |event: &ActivityEvent| {
            let since = event.time.duration_since(SystemTime::UNIX_EPOCH);
            since.expect("later").as_secs()
        };
        let order: Vec<u64> = queue.take().events.iter().map(seconds).collect();
        assert_eq!(order, [0, 1, 101, 2, 3, 103, 4, 5, 105]);
        assert_eq!(queue.lend().len(), 0);
    }

    #[test]
    fn what_finds_no_room_is_counted_once() {
        let mut queue = ActivityQueue::default();
        for _ in 0..MOST + 3 {
            queue.push(event());
        }
        let waiting = queue.take();
        assert_eq!((waiting.events.len(), waiting.shed), (MOST, 3));
        assert_eq!(queue.take().shed, 0);
        queue.close();
        queue.push(event());
        assert!(queue.take().events.is_empty());
    }

    #[test]
    fn names_of_things_take_room_too() {
        let mut queue = ActivityQueue::default();
        for _ in 0..200 {
            let thing = TouchedThing {
                kind: "tool",
                name: "x".repeat(MOST_BYTES / 100).into(),
                fingerprint: None,
                why: None,
            };
            let change = OperatorChange {
                things: vec![thing],
                ..OperatorChange::default()
            };
            queue.push(ActivityEvent {
                what: EventKind::Change(Box::new(change)),
                ..event()
            });
        }
        let waiting = queue.take();
        assert_eq!((waiting.events.len(), waiting.shed), (99, 101));
    }
}
