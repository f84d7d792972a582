//! Keeps the whole texts of cut results for their callers: under keys that nobody can guess, for two hours, within a budget.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use super::{CutOrder, LongText, ReadingOn, cutting::LongResult};
use crate::{
    access::Caller,
    runtime::{
        long_work::{LongWork, NoTurn},
        memory_budget::{MemoryBudget, MemoryShare},
        sync::Guarded,
        waits::or_never,
    },
    telemetry::log_throttle::LogThrottle,
    wire::{Raw, Target},
};

/// How long a text can be read.
const KEPT: Duration = Duration::from_hours(2);

/// Limit: bytes of texts that are kept of one caller, and of all. The oldest texts make room; a result that is larger than what one caller
/// may have is not cut. The texts count in the daemon's memory budget for clients, of which they take a quarter at most.
const OF_A_CALLER: usize = 32 << 20;
const OF_ALL: usize = 64 << 20;

/// Limit: texts that are kept of one caller, and of all.
const TEXTS_OF_A_CALLER: usize = 500;
const TEXTS_OF_ALL: usize = 2_000;

/// Bytes of a text that is worked on in the task of the request. A longer one is worked on by a thread of its own.
const SHORT_WORK: usize = 128 << 10;

/// The texts that are kept. Cheap to clone; clones are the same.
#[derive(Clone, Default)]
pub struct LargeResults(Arc<Parts>);

#[derive(Default)]
struct Parts {
    table: Guarded<Table>,
    added: Notify,
    memory: MemoryBudget,
    work: LongWork,
    uncut: LogThrottle,
}

#[derive(Default)]
struct Table {
    by_key: HashMap<Arc<str>, Entry>,
    /// The same keys, the oldest first.
    in_order: VecDeque<Arc<str>>,
    bytes: usize,
}

struct Entry {
    kept: KeptText,
    caller: Caller,
    expires: Instant,
    memory: MemoryShare,
}

/// A text that can be read on.
#[derive(Clone)]
pub struct KeptText {
    /// The text.
    pub text: Arc<LongText>,
    /// The tools, prompts and resources that it came from: its reader must still be allowed to use each of them.
    pub sources: Arc<[TextSource]>,
    /// How its reader goes on.
    pub reading: ReadingOn,
}

/// A thing of a server from which a text came.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TextSource {
    /// The server.
    pub server: Box<str>,
    /// The request for the thing, under the server's own name.
    pub target: Target<'static>,
}

impl LargeResults {
    /// Keeps texts within this budget.
    pub fn within(memory: MemoryBudget) -> Self {
        Self(Arc::new(Parts {
            memory,
            ..Parts::default()
        }))
    }

    /// Cuts a result and keeps its texts for this caller. Gives back the result as it is if it is short enough, or cannot be kept.
    /// Cancel-safe.
    pub async fn cut(
        &self,
        result: Raw,
        order: CutOrder,
        caller: &Caller,
        sources: Vec<TextSource>,
    ) -> Raw {
        let (this, caller, whole) = (self.clone(), caller.clone(), result.clone());
        let cutting = move || this.cut_now(&result, order, caller, sources);
        let cut = self.run(whole.as_bytes().len(), cutting).await;
        let cut = cut.unwrap_or_else(|NoTurn| {
            self.note_uncut("too many others are being cut");
            None
        });
        cut.unwrap_or(whole)
    }

    fn cut_now(
        &self,
        result: &Raw,
        order: CutOrder,
        caller: Caller,
        sources: Vec<TextSource>,
    ) -> Option<Raw> {
        let long = LongResult::of(result, order)?;
        let key: Arc<str> = uuid::Uuid::new_v4().simple().to_string().into();
        let cut = long.shortened(result, &key);
        let (chars, bytes) = (long.text.chars(), long.text.bytes());
        let kept = KeptText {
            text: Arc::new(long.text),
            sources: sources.into(),
            reading: order.reading,
        };
        if !self.keep(&key, kept, caller, Instant::now()) {
            self.note_uncut("it is larger than the limit for one caller, or memory is short");
            return None;
        }
        tracing::debug!(chars, bytes, "the text of a result was cut");
        Some(cut)
    }

    fn note_uncut(&self, why: &str) {
        if let Some(times) = self.0.uncut.due() {
            tracing::warn!(times, why, "large result not cut");
        }
    }

    /// The text under a key; `None` for the key of another caller.
    pub fn find(&self, key: &str, caller: &Caller) -> Option<KeptText> {
        self.find_at(key, caller, Instant::now())
    }

    fn find_at(&self, key: &str, caller: &Caller, now: Instant) -> Option<KeptText> {
        let table = self.0.table.lock();
        let entry = table.by_key.get(key)?;
        (entry.caller == *caller && now < entry.expires).then(|| entry.kept.clone())
    }

    /// Runs work on a text of so many bytes, on a thread of its own if it is long. Cancel-safe.
    pub async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoTurn> {
        if bytes <= SHORT_WORK {
            return Ok(work());
        }
        self.0.work.run(|_| work()).await
    }

    /// Keeps a text, for which older ones make room; false if there is none.
    fn keep(&self, key: &Arc<str>, kept: KeptText, caller: Caller, now: Instant) -> bool {
        let bytes = kept.text.bytes();
        if bytes > OF_A_CALLER {
            return false;
        }
        // Dropped after the lock.
        let mut gone = Vec::new();
        let mut table = self.0.table.lock();
        gone.extend(table.take_expired(now));
        while table.has_too_much_of(&caller, bytes) {
            gone.extend(table.take_oldest(|entry| entry.caller == caller));
        }
        while table.has_too_much(bytes) {
            gone.extend(table.take_oldest(|_| true));
        }
        let mut memory = self.0.memory.share();
        while !memory.try_grow(bytes) {
            match table.take_oldest(|_| true) {
                // Its memory is free when nobody reads it any more.
                Some(oldest) => drop(oldest),
                None => return false,
            }
        }
        let entry = Entry {
            kept,
            caller,
            expires: now + KEPT,
            memory,
        };
        table.put(key, entry);
        drop(table);
        self.0.added.notify_one();
        true
    }

    /// Drops expired texts, for ever.
    pub async fn forget_expired(&self) {
        loop {
            let next = self.0.table.lock().next_expiry();
            let due = next.map(|next| tokio::time::sleep_until(next.into()));
            tokio::select! {
                () = or_never(due) => (),
                () = self.0.added.notified() => (),
            }
            // Dropped after the lock.
            let expired = self.0.table.lock().take_expired(Instant::now());
            drop(expired);
        }
    }
}

impl Table {
    fn put(&mut self, key: &Arc<str>, entry: Entry) {
        self.bytes += entry.memory.bytes();
        self.in_order.push_back(key.clone());
        self.by_key.insert(key.clone(), entry);
    }

    fn has_too_much(&self, more: usize) -> bool {
        !self.by_key.is_empty() && (self.bytes + more > OF_ALL || self.by_key.len() >= TEXTS_OF_ALL)
    }

    fn has_too_much_of(&self, caller: &Caller, more: usize) -> bool {
        let own = self.by_key.values().filter(|e| e.caller == *caller);
        let (texts, bytes) = own.fold((0, 0), |(texts, bytes), entry| {
            (texts + 1, bytes + entry.memory.bytes())
        });
        texts > 0 && (bytes + more > OF_A_CALLER || texts >= TEXTS_OF_A_CALLER)
    }

    fn take_oldest(&mut self, of: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let is_it = |key: &Arc<str>| self.by_key.get(key).is_some_and(&of);
        let at = self.in_order.iter().position(is_it)?;
        let key = self.in_order.remove(at)?;
        self.take(&key)
    }

    fn take(&mut self, key: &str) -> Option<Entry> {
        let entry = self.by_key.remove(key)?;
        self.bytes -= entry.memory.bytes();
        Some(entry)
    }

    /// Every text is kept for the same time, so the oldest expire first.
    fn next_expiry(&self) -> Option<Instant> {
        let oldest = self.in_order.front()?;
        self.by_key.get(oldest).map(|entry| entry.expires)
    }

    fn take_expired(&mut self, now: Instant) -> Vec<Entry> {
        let mut expired = Vec::new();
        while self.next_expiry().is_some_and(|expires| now >= expires)
            && let Some(key) = self.in_order.pop_front()
        {
            expired.extend(self.take(&key));
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(bytes: usize) -> KeptText {
        KeptText {
            text: Arc::new(LongText::of_text("x".repeat(bytes))),
            sources: [].into(),
            reading: ReadingOn::ByItsName,
        }
    }

    /// Keeps texts at moments of a clock of its own.
    struct Clock(LargeResults, Instant);

    impl Clock {
        fn new() -> Self {
            Self(LargeResults::default(), Instant::now())
        }

        fn keep(&self, key: &str, caller: &str, bytes: usize, at: Duration) -> bool {
            let caller = Caller::named(caller);
            self.0.keep(&key.into(), kept(bytes), caller, self.1 + at)
        }

        fn has(&self, key: &str, caller: &str, at: Duration) -> bool {
            let caller = Caller::named(caller);
            self.0.find_at(key, &caller, self.1 + at).is_some()
        }

        fn held(&self) -> usize {
            self.0.0.table.lock().bytes
        }
    }

    const NOW: Duration = Duration::ZERO;
    const MEBIBYTE: usize = 1 << 20;

    #[test]
    fn a_key_is_its_callers_only_and_for_two_hours() {
        let clock = Clock::new();
        assert!(clock.keep("k", "a", 10, NOW));
        assert!(clock.has("k", "a", NOW) && !clock.has("k", "b", NOW) && !clock.has("x", "a", NOW));
        let other_endpoint = Caller::named("a").in_profile("p");
        assert!(clock.0.find_at("k", &other_endpoint, clock.1).is_none());
        let last = Duration::from_secs(2 * 60 * 60 - 1);
        assert!(clock.has("k", "a", last) && !clock.has("k", "a", KEPT));
        assert!(clock.held() > 0);
        assert!(clock.keep("l", "a", 10, KEPT));
        assert_eq!(
            clock.0.0.table.lock().by_key.len(),
            1,
            "what has expired is let go"
        );
    }

    #[test]
    fn the_oldest_of_a_caller_give_way_to_what_it_has_now() {
        let clock = Clock::new();
        for n in 0..4 {
            assert!(clock.keep(&format!("a{n}"), "a", 10 * MEBIBYTE, NOW));
        }
        assert!(clock.keep("b", "b", 10 * MEBIBYTE, NOW));
        let there = |key: &str| clock.has(key, key.split_at(1).0, NOW);
        assert!(!there("a0") && there("a1") && there("a3") && there("b"));
        assert!(
            !clock.keep("huge", "a", 33 * MEBIBYTE, NOW),
            "and nothing gave way to it"
        );
        assert!(there("a1"));
        for n in 0..TEXTS_OF_A_CALLER {
            assert!(clock.keep(&format!("c{n}"), "c", 1, NOW));
        }
        assert!(there("c0") && clock.keep("c", "c", 1, NOW) && !there("c0") && there("b"));
    }

    #[test]
    fn the_oldest_of_all_give_way_where_many_callers_have_much() {
        let clock = Clock::new();
        for caller in ["a", "b", "c", "d", "e"] {
            assert!(clock.keep(caller, caller, 15 * MEBIBYTE, NOW));
        }
        let there = |key: &str| clock.has(key, key, NOW);
        assert!(!there("a") && there("b") && there("e"));
        assert!(clock.held() <= OF_ALL);
        assert_eq!(clock.held(), clock.0.0.memory_held());
    }

    impl Parts {
        fn memory_held(&self) -> usize {
            let table = self.table.lock();
            table
                .by_key
                .values()
                .map(|entry| entry.memory.bytes())
                .sum()
        }
    }

    #[test]
    fn where_the_daemon_holds_too_much_nothing_is_kept() {
        let memory = MemoryBudget::of(2 * MEBIBYTE);
        let results = LargeResults::within(memory.clone());
        let keep = |key: &str, bytes: usize| {
            results.keep(&key.into(), kept(bytes), Caller::named("a"), Instant::now())
        };
        let is_there = |key: &str| results.find(key, &Caller::named("a")).is_some();
        assert!(keep("one", MEBIBYTE) && keep("two", MEBIBYTE));
        assert!(!is_there("one") && is_there("two"));
        let mut others = memory.share();
        others.grow_anyway(2 * MEBIBYTE);
        assert!(!keep("three", MEBIBYTE) && !is_there("two"));
        drop(others);
        assert!(keep("four", MEBIBYTE) && is_there("four"));
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_given_back_when_the_time_is_over() {
        let clock = Clock::new();
        let waiting = tokio::spawn({
            let results = clock.0.clone();
            async move { results.forget_expired().await }
        });
        let past = Instant::now().checked_sub(KEPT).expect("a moment");
        assert!(
            clock
                .0
                .keep(&"k".into(), kept(10), Caller::named("a"), past)
        );
        while clock.held() > 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(clock.0.0.table.lock().in_order.is_empty());
        waiting.abort();
    }

    #[tokio::test]
    async fn large_results_are_cut_elsewhere_and_small_ones_are_not_looked_at() {
        let results = LargeResults::default();
        let order = CutOrder {
            limit: 1000,
            structured: super::super::StructuredContent::Kept,
            reading: ReadingOn::ByItsName,
        };
        let caller = Caller::named("a");
        for chars in [10, 5_000, 1_000_000] {
            let text = "line\n".repeat(chars / 5);
            let result = serde_json::json!({ "content": [{ "type": "text", "text": text }] });
            let result = Raw::author(&result);
            let cut = results
                .cut(result.clone(), order, &caller, Vec::new())
                .await;
            assert_eq!(cut == result, chars <= 1000, "{chars}");
            assert!(cut.as_bytes().len() < 2000);
        }
        assert_eq!(results.0.table.lock().by_key.len(), 2);
    }
}
