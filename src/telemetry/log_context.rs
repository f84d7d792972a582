//! In the course of what a line is logged: it stands before the line. Of most calls nothing is logged, so what they would be called is
//! not put together before there is a line.

use std::{fmt::Display, future::Future, sync::Arc};

use tokio::task::futures::TaskLocalFuture;

/// Something that lines are logged in the course of: a call.
pub trait LogContext: Send + Sync {
    /// What it is.
    fn name(&self) -> &'static str;

    /// Tells what tells it from others.
    fn fields(&self, fields: &mut dyn ContextFields);

    /// What this happens in the course of.
    fn outer(&self) -> Option<&dyn LogContext>;
}

/// Hears of the fields of a context.
pub trait ContextFields {
    /// One of our own making: a number, an id.
    fn ours(&mut self, name: &'static str, value: &dyn Display);

    /// One that others may have made up.
    fn text(&mut self, name: &'static str, value: &str);
}

/// A context that work and lines can be given. Cheap to clone.
#[derive(Clone)]
pub struct LoggedAs(Arc<dyn LogContext>);

impl LoggedAs {
    /// In the course of this.
    pub fn new(context: impl LogContext + 'static) -> Self {
        Self(Arc::new(context))
    }

    /// The context itself.
    pub fn context(&self) -> &dyn LogContext {
        &*self.0
    }

    /// Logs something in this context.
    pub fn log(&self, log: impl FnOnce()) {
        CURRENT.sync_scope(self.clone(), log);
    }
}

tokio::task_local! {
    static CURRENT: LoggedAs;
}

/// Work in the course of which lines may be logged.
pub trait LoggedWork: Future + Sized {
    /// What is logged while it runs is logged in this context.
    fn logged_in(self, context: LoggedAs) -> TaskLocalFuture<LoggedAs, Self> {
        CURRENT.scope(context, self)
    }

    /// The same with the context that this is called in: for what goes on in another task.
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

/// Has a look at the context that this is called in, if there is one.
pub fn with_current<T>(look: impl FnOnce(Option<&dyn LogContext>) -> T) -> T {
    match CURRENT.try_with(LoggedAs::clone) {
        Ok(context) => look(Some(context.context())),
        Err(_) => look(None),
    }
}
