//! The context of log lines: the call in the course of which a line is logged stands before it. Most calls log nothing, so the text of a
//! context is made only when a line is written.

use std::{fmt::Display, future::Future, sync::Arc};

use tokio::task::futures::TaskLocalFuture;

/// Something in the course of which lines are logged, such as a call.
pub trait LogContext: Send + Sync {
    /// The kind of thing: `call`.
    fn name(&self) -> &'static str;

    /// Gives the fields that identify it.
    fn fields(&self, fields: &mut dyn ContextFields);

    /// The context within which this one happens.
    fn outer(&self) -> Option<&dyn LogContext>;
}

/// Receives the fields of a context.
pub trait ContextFields {
    /// A field whose value mcpproxy made: a number, an id.
    fn ours(&mut self, name: &'static str, value: &dyn Display);

    /// A field whose value a client or a server may have made up.
    fn text(&mut self, name: &'static str, value: &str);
}

/// A context for work and for single lines. Cheap to clone.
#[derive(Clone)]
pub struct LoggedAs(Arc<dyn LogContext>);

impl LoggedAs {
    /// Wraps a context.
    pub fn new(context: impl LogContext + 'static) -> Self {
        Self(Arc::new(context))
    }

    /// The context itself.
    pub fn context(&self) -> &dyn LogContext {
        &*self.0
    }

    /// Runs `log`, whose lines get this context.
    pub fn log(&self, log: impl FnOnce()) {
        CURRENT.sync_scope(self.clone(), log);
    }
}

tokio::task_local! {
    static CURRENT: LoggedAs;
}

/// Work in the course of which lines may be logged.
pub trait LoggedWork: Future + Sized {
    /// The same work, whose lines get this context.
    fn logged_in(self, context: LoggedAs) -> TaskLocalFuture<LoggedAs, Self> {
        CURRENT.scope(context, self)
    }

    /// The same with the context of the caller, for work that moves to another task.
    fn logged_here(self) -> impl Future<Output = Self::Output> {
        let context = CURRENT.try_with(LoggedAs::clone).ok();
        async move {
            match context {
                Some(context) => self.logged_in(context).await,
                None => self.await,
            }
        }
    }
}

impl<F: Future> LoggedWork for F {}

/// Calls `look` with the context of the caller, if there is one.
pub fn with_current<T>(look: impl FnOnce(Option<&dyn LogContext>) -> T) -> T {
    match CURRENT.try_with(LoggedAs::clone) {
        Ok(context) => look(Some(context.context())),
        Err(_) => look(None),
    }
}
