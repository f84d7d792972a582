//! Measures the time and the output of a running script, and decides when to stop it.

use std::{
    cell::{Cell, RefCell},
    time::{Duration, Instant},
};

use rquickjs::{Ctx, Error, Exception};

use crate::{
    code_execution::{CodePlace, ScriptCode, ScriptFailure, limits, restrictions},
    config::duration,
};

/// Why a script is stopped from outside, which it cannot catch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interruption {
    /// It took longer than this.
    Wall(Duration),
    /// It computed for longer than this.
    Cpu(Duration),
    /// It logged too much.
    Console,
    /// The daemon, which makes its calls, is gone.
    CallerGone,
}

/// Measures what one script uses, and remembers why it was stopped.
pub(super) struct Watch {
    began: Instant,
    wall: Duration,
    cpu: Duration,
    /// The processor time of the thread when the script began; none on systems that do not tell it.
    cpu_before: Option<Duration>,
    /// The time spent waiting for calls, by which the computing is estimated on such systems.
    waited: Cell<Duration>,
    /// In bytes.
    logged: Cell<usize>,
    stopped: Cell<Option<Interruption>>,
    /// Where the script was stopped, if it was in one of the functions that mcpproxy gives it.
    stopped_at: RefCell<Option<CodePlace>>,
}

impl Watch {
    pub(super) fn new(wall: Duration, cpu: Duration) -> Self {
        Self {
            began: Instant::now(),
            wall,
            cpu,
            cpu_before: restrictions::computed_by_this_thread(),
            waited: Cell::default(),
            logged: Cell::default(),
            stopped: Cell::default(),
            stopped_at: RefCell::default(),
        }
    }

    pub(super) fn stopped(&self) -> Option<Interruption> {
        self.stopped.get()
    }

    /// Whether the script must end now. The engine calls it every few thousand steps.
    pub(super) fn must_stop(&self) -> bool {
        if self.stopped.get().is_none() {
            let stop = if self.began.elapsed() > self.wall {
                Some(Interruption::Wall(self.wall))
            } else {
                (self.computed() > self.cpu).then_some(Interruption::Cpu(self.cpu))
            };
            self.stopped.set(stop);
        }
        self.stopped.get().is_some()
    }

    fn computed(&self) -> Duration {
        let now = restrictions::computed_by_this_thread();
        match (self.cpu_before, now) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.began.elapsed().saturating_sub(self.waited.get()),
        }
    }

    /// Does work that does not count as computing of the script.
    pub(super) fn wait_for<T>(&self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = work();
        self.waited.set(self.waited.get() + began.elapsed());
        done
    }

    /// Counts a line of so many bytes. False if the script has logged too much with it.
    pub(super) fn count_logged(&self, bytes: usize) -> bool {
        // With its end, so that empty lines count, too.
        self.logged.set(self.logged.get() + bytes + 1);
        self.logged.get() <= limits::CONSOLE
    }

    /// The failure of the script, if it was stopped: after this place, which is the last that the engine knows, if no better one is known.
    pub(super) fn failure_after(&self, last: &CodePlace) -> Option<ScriptFailure> {
        let mut failure = self.stopped.get()?.failure();
        let known = self.stopped_at.borrow().clone();
        if let (None, Some((line, _))) = (&known, last.position) {
            failure.message = format!("{}; it was stopped near line {line}", failure.message);
        }
        Some(failure.at(known.unwrap_or_else(|| last.clone())))
    }

    /// Stops the script at this place. If it catches the error, it ends when the engine calls [`Watch::must_stop`] next.
    pub(super) fn stop(&self, ctx: &Ctx<'_>, why: Interruption, at: CodePlace) -> Error {
        if self.stopped.replace(Some(why)).is_none() {
            self.stopped_at.replace(Some(at));
        }
        Exception::throw_internal(ctx, "stopped")
    }
}

impl Interruption {
    fn failure(self) -> ScriptFailure {
        let why = match self {
            Self::Wall(wall) => format!("the script took longer than {} ms", wall.as_millis()),
            Self::Cpu(cpu) => format!(
                "the script computed for more than {}, which timeout_ms cannot extend",
                duration::in_words(cpu)
            ),
            Self::Console => format!("the script logged more than {} KiB", limits::CONSOLE >> 10),
            Self::CallerGone => "the script's caller has left".to_owned(),
        };
        let code = match self {
            Self::Wall(_) | Self::Cpu(_) => ScriptCode::Timeout,
            Self::Console => ScriptCode::OutputLimitExceeded,
            Self::CallerGone => ScriptCode::EngineFailed,
        };
        ScriptFailure::new(code, why)
    }
}
