//! Runs one script to its end on the calling thread, in a fresh runtime that is not used again. The only door to rquickjs.
//!
//! Knows nothing of servers and processes: calls and log lines of the script go to its [`ScriptHost`].

mod outcome;
mod stack_trace;
mod watch;

use std::{cell::RefCell, rc::Rc, time::Duration};

use rquickjs::{
    CatchResultExt, CaughtError, Context, Ctx, Error, Exception, Function, Persistent, Promise,
    Runtime, Value, context::EvalOptions, promise::PromiseState,
};
use serde_json::value::RawValue;

use self::{
    outcome::failure_of,
    stack_trace::ScriptSource,
    watch::{Interruption, Watch},
};
use super::{
    CallBatch, CodePlace, ScriptCode, ScriptEnd, ScriptFailure, limits, messages::ScriptStart,
};

const PRELUDE: &str = include_str!("prelude.js");

/// Stands around a script that has a `return` outside of functions, to make it the body of one. Adds no line before it, so that its lines
/// keep their numbers.
const BODY: (&str, &str) = ("(async()=>{", "\n})()");

/// The parser's message for a `return` outside of functions.
const NO_BODY: &str = "return not in a function";

/// Makes the calls of a script and takes its log lines.
pub(super) trait ScriptHost {
    /// Makes these calls and gives their answers, a JSON array. `None` if the daemon is gone.
    fn call(&mut self, batch: CallBatch) -> Option<Vec<u8>>;

    /// Takes a line that the script logs. False if the daemon is gone.
    fn log(&mut self, line: String) -> bool;
}

/// Runs a script, and calls `ended` with its end before any of its memory is freed: after a lack of memory that may fail.
pub(super) fn run(
    script: ScriptStart,
    host: impl ScriptHost + 'static,
    ended: impl FnOnce(ScriptEnd),
) {
    let [wall, cpu] = [script.wall_ms, script.cpu_ms].map(Duration::from_millis);
    let watch = Rc::new(Watch::new(wall, cpu));
    let context = Runtime::new().and_then(|runtime| {
        runtime.set_memory_limit(limits::HEAP);
        runtime.set_max_stack_size(limits::STACK);
        let watched = watch.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || watched.must_stop())));
        Context::full(&runtime)
    });
    let Ok(context) = context else {
        let why = "there is no memory for an engine";
        return ended(ScriptFailure::new(ScriptCode::EngineFailed, why).into());
    };
    let running = Running {
        context: &context,
        watch: &watch,
        source: &Rc::new(ScriptSource::new(script.code)),
    };
    let value = running.run(&script.input, Rc::new(RefCell::new(host)));
    ended(value.map_or_else(ScriptEnd::Failed, ScriptEnd::Value));
}

/// A promise, kept while the engine is not entered.
type SavedPromise = Persistent<Promise<'static>>;

/// The result of a promise that has settled.
enum Settled {
    /// The value of the script.
    Value(Box<RawValue>),
    /// Another promise, such as that of an async function, whose result is the value of the script.
    Promise(SavedPromise),
}

/// A script in its context.
struct Running<'a> {
    context: &'a Context,
    watch: &'a Rc<Watch>,
    source: &'a Rc<ScriptSource>,
}

impl Running<'_> {
    fn run(
        &self,
        input: &RawValue,
        host: Rc<RefCell<dyn ScriptHost>>,
    ) -> Result<Box<RawValue>, ScriptFailure> {
        let mut promise = self.context.with(|ctx| {
            self.prepare(&ctx, input, host)
                .catch(&ctx)
                .map_err(|caught| self.failure_of(caught))?;
            let promise = self.begin(&ctx)?;
            Ok(Persistent::save(&ctx, promise))
        })?;
        // The engine wraps the result of a script in an object.
        let mut is_wrapped = true;
        loop {
            self.settle(&promise)?;
            let settled = self
                .context
                .with(|ctx| self.result_of(&ctx, promise, is_wrapped));
            match settled? {
                Settled::Value(value) => return Ok(value),
                Settled::Promise(next) => promise = next,
            }
            is_wrapped = false;
        }
    }

    fn failure_of(&self, caught: CaughtError<'_>) -> ScriptFailure {
        failure_of(caught, self.watch, self.source)
    }

    /// Gives the script its `input` and its functions.
    fn prepare(
        &self,
        ctx: &Ctx<'_>,
        input: &RawValue,
        host: Rc<RefCell<dyn ScriptHost>>,
    ) -> rquickjs::Result<()> {
        let input = ctx.json_parse(input.get())?;
        let prelude: Function<'_> =
            ctx.eval_with_options(PRELUDE, options(stack_trace::PRELUDE))?;
        let calls = self.call_function(ctx, host.clone())?;
        let logs = self.log_function(ctx, host)?;
        prelude.call((calls, logs, input))
    }

    /// Begins the script, as it is or as the body of a function.
    fn begin<'js>(&self, ctx: &Ctx<'js>) -> Result<Promise<'js>, ScriptFailure> {
        let evaluate = |code: String| -> rquickjs::Result<Promise<'js>> {
            let mut options = options(stack_trace::SCRIPT);
            options.promise = true;
            ctx.eval_with_options(code, options)
        };
        let code = self.source.code();
        // Only the parser and an interruption throw here: everything else rejects the promise.
        let caught = match evaluate(code.to_owned()).catch(ctx) {
            Ok(promise) => return Ok(promise),
            Err(caught) => caught,
        };
        let failure = match caught {
            CaughtError::Error(Error::InvalidString(_)) => ScriptFailure::new(
                ScriptCode::SyntaxError,
                "the script contains the character U+0000",
            ),
            caught => self.failure_of(caught),
        };
        if failure.code != ScriptCode::SyntaxError {
            return Err(failure);
        }
        let (head, tail) = BODY;
        self.source.begins_after(head.len());
        match evaluate(format!("{head}{code}{tail}")).catch(ctx) {
            Ok(promise) => Ok(promise),
            // The script was meant as the body of a function and has another mistake, or was stopped.
            Err(caught) if failure.message.contains(NO_BODY) => Err(self.failure_of(caught)),
            Err(_) => Err(failure),
        }
    }

    /// Runs jobs until the promise has settled.
    fn settle(&self, promise: &SavedPromise) -> Result<(), ScriptFailure> {
        // A job that ran out of memory, of which the script was not told.
        let mut lost = None;
        while self.is_pending(promise)? {
            // The engine looks at the clock only every few thousand steps, which many short jobs may never reach.
            if self.watch.must_stop()
                && let Some(failure) = self.watch.failure_after(&CodePlace::default())
            {
                return Err(failure);
            }
            match self.context.runtime().execute_pending_job() {
                Ok(true) => (),
                Ok(false) => {
                    let why = "the script awaits a promise that never settles";
                    let waits = || ScriptFailure::new(ScriptCode::RuntimeError, why);
                    return Err(lost.unwrap_or_else(waits));
                }
                Err(thrown) => match thrown.0.with(|ctx| self.left_in(&ctx)) {
                    // An interruption settles no promise.
                    Some(failure) if self.watch.stopped().is_some() => return Err(failure),
                    Some(failure) if failure.code == ScriptCode::OutOfMemory => {
                        lost = Some(failure);
                    }
                    _ => (),
                },
            }
        }
        Ok(())
    }

    /// Whether a promise has not settled yet. If the engine has no memory to queue the reaction to a promise, it drops that silently: the
    /// script would skip work or wait for ever, so its failure is returned here.
    fn is_pending(&self, promise: &SavedPromise) -> Result<bool, ScriptFailure> {
        self.context.with(|ctx| {
            // Of an async function that was stopped nothing else remains.
            let is_end = |failure: &ScriptFailure| {
                failure.code == ScriptCode::OutOfMemory || self.watch.stopped().is_some()
            };
            let left = ctx.has_exception().then(|| self.left_in(&ctx)).flatten();
            if let Some(failure) = left.filter(is_end) {
                return Err(failure);
            }
            let promise = promise.clone().restore(&ctx);
            Ok(promise.is_ok_and(|promise| promise.state() == PromiseState::Pending))
        })
    }

    /// The exception that is still set in the engine.
    fn left_in(&self, ctx: &Ctx<'_>) -> Option<ScriptFailure> {
        let caught = Err::<(), _>(Error::Exception).catch(ctx);
        caught.err().map(|caught| self.failure_of(caught))
    }

    /// The result of a promise that has settled. With `is_wrapped` it is the member `value` of the result, if that is an object.
    fn result_of(
        &self,
        ctx: &Ctx<'_>,
        promise: SavedPromise,
        is_wrapped: bool,
    ) -> Result<Settled, ScriptFailure> {
        let value = promise.restore(ctx).and_then(|promise| {
            let result = promise.result::<Value<'_>>();
            let value = result.unwrap_or(Err(Error::WouldBlock))?;
            match value.as_object() {
                Some(wrapped) if is_wrapped => wrapped.get("value"),
                _ => Ok(value),
            }
        });
        let value = value.catch(ctx).map_err(|caught| self.failure_of(caught))?;
        match value.as_promise() {
            Some(promise) => Ok(Settled::Promise(Persistent::save(ctx, promise.clone()))),
            None => outcome::json(ctx, value, self.watch, self.source).map(Settled::Value),
        }
    }

    fn call_function<'js>(
        &self,
        ctx: &Ctx<'js>,
        host: Rc<RefCell<dyn ScriptHost>>,
    ) -> rquickjs::Result<Function<'js>> {
        let (watch, source) = (self.watch.clone(), self.source.clone());
        let call = move |ctx: Ctx<'js>, batch: String| -> rquickjs::Result<Value<'js>> {
            if batch.len() > limits::MESSAGE {
                let why = "the arguments of the calls are larger than 8 MiB";
                return Err(Exception::throw_range(&ctx, why));
            }
            let mut batch: CallBatch = serde_json::from_str(&batch)
                .map_err(|error| Exception::throw_type(&ctx, &format!("no calls: {error}")))?;
            batch.at = place_of_caller(&ctx, &source);
            let at = batch.at.clone();
            let answers = watch.wait_for(|| host.borrow_mut().call(batch));
            match answers {
                Some(answers) => ctx.json_parse(answers),
                None => Err(watch.stop(&ctx, Interruption::CallerGone, at)),
            }
        };
        Function::new(ctx.clone(), call)
    }

    fn log_function<'js>(
        &self,
        ctx: &Ctx<'js>,
        host: Rc<RefCell<dyn ScriptHost>>,
    ) -> rquickjs::Result<Function<'js>> {
        let (watch, source) = (self.watch.clone(), self.source.clone());
        let log = move |ctx: Ctx<'js>, line: String| -> rquickjs::Result<()> {
            let stop = |why| {
                let at = place_of_caller(&ctx, &source);
                Err(watch.stop(&ctx, why, at))
            };
            if !watch.count_logged(line.len()) {
                return stop(Interruption::Console);
            }
            if host.borrow_mut().log(line) {
                Ok(())
            } else {
                stop(Interruption::CallerGone)
            }
        };
        Function::new(ctx.clone(), log)
    }
}

/// The place in the script that calls a function of ours.
fn place_of_caller(ctx: &Ctx<'_>, source: &ScriptSource) -> CodePlace {
    let here = Exception::from_message(ctx.clone(), "").catch(ctx);
    let trace = here.map_or_else(|_| String::new(), |here| outcome::trace_of(&here));
    source.place(&trace)
}

fn options(name: &str) -> EvalOptions {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(name.to_owned());
    options
}

#[cfg(test)]
mod tests;
