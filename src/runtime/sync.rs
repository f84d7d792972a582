//! Locks without poisoning.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A value that one thread at a time sees.
///
/// Invariant: the value is whole between statements, so that a panic elsewhere does not spoil it and the lock is given out all the
/// same. Nobody awaits while holding it.
#[derive(Debug, Default)]
pub struct Guarded<T>(Mutex<T>);

impl<T> Guarded<T> {
    /// Guards a value.
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Waits for the value.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
