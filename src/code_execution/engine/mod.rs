//! Runs one script to its end on the thread that asks for it: a fresh runtime, which is not used again. The only door to rquickjs.
//!
//! Knows nothing of servers and processes; what a script asks for goes to its [`ScriptHost`].

mod outcome;
mod stack_trace;
mod watch;

use std::{cell::RefCell, rc::Rc, time::Duration};

use rquickjs::{
    CatchResultExt, Context, Ctx, Error, Exception, Function, Promise, Runtime, Value,
    context::EvalOptions, promise::PromiseState,
};
use serde_json::value::RawValue;

use self::{
    outcome::failure_of,
    watch::{Interruption, Watch},
};
use super::{CallBatch, ScriptCode, ScriptEnd, ScriptFailure, limits};

const PRELUDE: &str = include_str!("prelude.js");

/// A script with `return` outside of functions is the body of one. On the same line, so that lines keep their numbers.
const BODY: (&str, &str) = ("(async()=>{", "\n})()");

/// What the parser says of a `return` outside of functions.
const NO_BODY: &str = "return not in a function";

/// Answers what a script asks for.
pub(super) trait ScriptHost {
    /// Makes these calls and gives the JSON of their answers, an array. `None` if there is nobody any more who would.
    fn call(&mut self, batch: CallBatch) -> Option<Vec<u8>>;

    /// Takes a line that the script logs. False if nobody is there any more.
    fn log(&mut self, line: String) -> bool;
}

/// What is to be run.
pub(super) struct EngineScript {
    pub(super) code: String,
    pub(super) input: Box<RawValue>,
    /// How long it may take from now on.
    pub(super) wall: Duration,
    /// How long it may compute.
    pub(super) cpu: Duration,
}

/// Runs a script, and tells `ended` how it ended before anything of it is let go: letting go of what ran out of memory may fail.
pub(super) fn run(
    script: &EngineScript,
    host: impl ScriptHost + 'static,
    ended: impl FnOnce(ScriptEnd),
) {
    let watch = Rc::new(Watch::new(script.wall, script.cpu));
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
    context.with(|ctx| {
        let running = Running {
            ctx: &ctx,
            watch: &watch,
        };
        let value = running.run(script, Rc::new(RefCell::new(host)));
        ended(value.map_or_else(ScriptEnd::Failed, ScriptEnd::Value));
    });
}

/// A script in its context.
struct Running<'a, 'js> {
    ctx: &'a Ctx<'js>,
    watch: &'a Rc<Watch>,
}

impl<'js> Running<'_, 'js> {
    fn run(
        &self,
        script: &EngineScript,
        host: Rc<RefCell<dyn ScriptHost>>,
    ) -> Result<Box<RawValue>, ScriptFailure> {
        self.prepare(script, host)
            .catch(self.ctx)
            .map_err(|caught| failure_of(caught, self.watch, 0))?;
        let (promise, before) = self.begin(&script.code)?;
        let fails = |caught| failure_of(caught, self.watch, before);
        let mut value: Value<'js> = self.settled(&promise)?.catch(self.ctx).map_err(fails)?;
        // The engine gives what a script ends with in an object.
        if let Some(wrapped) = value.as_object() {
            value = wrapped.get("value").catch(self.ctx).map_err(fails)?;
        }
        // A script may end with a promise, as that of an async function.
        while let Some(promise) = value.as_promise() {
            let settled = self.settled(promise)?;
            value = settled.catch(self.ctx).map_err(fails)?;
        }
        outcome::json(self.ctx, value, self.watch, before)
    }

    /// Gives the script its `input` and what it can call.
    fn prepare(
        &self,
        script: &EngineScript,
        host: Rc<RefCell<dyn ScriptHost>>,
    ) -> rquickjs::Result<()> {
        let input = self.ctx.json_parse(script.input.get())?;
        let prelude: Function<'js> = self
            .ctx
            .eval_with_options(PRELUDE, options(stack_trace::PRELUDE, false))?;
        let calls = call_function(self.ctx, self.watch, host.clone())?;
        let logs = log_function(self.ctx, self.watch, host)?;
        prelude.call((calls, logs, input))
    }

    /// Begins the script, as it is or as the body of a function, and says how many characters were put before its first line.
    fn begin(&self, code: &str) -> Result<(Promise<'js>, u32), ScriptFailure> {
        let evaluate = |code: String| -> rquickjs::Result<Promise<'js>> {
            self.ctx
                .eval_with_options(code, options(stack_trace::SCRIPT, true))
        };
        // What is thrown here is thrown by the parser: everything else is a promise that was rejected.
        let caught = match evaluate(code.to_owned()).catch(self.ctx) {
            Ok(promise) => return Ok((promise, 0)),
            Err(caught) => caught,
        };
        let failure = match caught {
            rquickjs::CaughtError::Error(Error::InvalidString(_)) => {
                ScriptFailure::new(ScriptCode::SyntaxError, "the script has a character U+0000")
            }
            caught => failure_of(caught, self.watch, 0),
        };
        if failure.code != ScriptCode::SyntaxError {
            return Err(failure);
        }
        let (head, tail) = BODY;
        let before = u32::try_from(head.len()).unwrap_or_default();
        match evaluate(format!("{head}{code}{tail}")).catch(self.ctx) {
            Ok(promise) => Ok((promise, before)),
            // It was meant to be the body of a function.
            Err(caught) if failure.message.contains(NO_BODY) => {
                Err(failure_of(caught, self.watch, before))
            }
            Err(_) => Err(failure),
        }
    }

    /// Runs what there is to run until the promise has settled.
    fn settled(
        &self,
        promise: &Promise<'js>,
    ) -> Result<rquickjs::Result<Value<'js>>, ScriptFailure> {
        while promise.state() == PromiseState::Pending {
            if let Some(stop) = self.watch.stopped() {
                return Err(stop.failure());
            }
            // An endless row of short jobs never comes to where the engine looks at the clock.
            self.watch.must_stop();
            if !self.ctx.execute_pending_job() {
                if let Some(stop) = self.watch.stopped() {
                    return Err(stop.failure());
                }
                let why = "the script waits for a promise that nothing will settle";
                return Err(ScriptFailure::new(ScriptCode::RuntimeError, why));
            }
        }
        match promise.result() {
            Some(result) => Ok(result),
            None => Ok(Err(Error::WouldBlock)),
        }
    }
}

fn options(name: &str, promise: bool) -> EvalOptions {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.promise = promise;
    options.filename = Some(name.to_owned());
    options
}

fn call_function<'js>(
    ctx: &Ctx<'js>,
    watch: &Rc<Watch>,
    host: Rc<RefCell<dyn ScriptHost>>,
) -> rquickjs::Result<Function<'js>> {
    let watch = watch.clone();
    let call = move |ctx: Ctx<'js>, batch: String| -> rquickjs::Result<Value<'js>> {
        if batch.len() > limits::MESSAGE {
            let why = "the arguments of the calls are larger than 8 MiB";
            return Err(Exception::throw_range(&ctx, why));
        }
        let batch: CallBatch = serde_json::from_str(&batch)
            .map_err(|error| Exception::throw_type(&ctx, &format!("no calls: {error}")))?;
        let answers = watch.outside(|| host.borrow_mut().call(batch));
        match answers {
            Some(answers) => ctx.json_parse(answers),
            None => Err(watch.stop(&ctx, Interruption::Alone)),
        }
    };
    Function::new(ctx.clone(), call)
}

fn log_function<'js>(
    ctx: &Ctx<'js>,
    watch: &Rc<Watch>,
    host: Rc<RefCell<dyn ScriptHost>>,
) -> rquickjs::Result<Function<'js>> {
    let watch = watch.clone();
    let log = move |ctx: Ctx<'js>, line: String| -> rquickjs::Result<()> {
        if !watch.has_room_for(line.len()) {
            return Err(watch.stop(&ctx, Interruption::Console));
        }
        if host.borrow_mut().log(line) {
            Ok(())
        } else {
            Err(watch.stop(&ctx, Interruption::Alone))
        }
    };
    Function::new(ctx.clone(), log)
}

#[cfg(test)]
mod tests;
