//! Wakes by which a task only tells itself what it knows. hyper wakes the task of a connection for each piece of a body that is taken: where
//! that is the very task which takes it, it would run once more for nothing, and wake another thread to help.

use std::{
    cell::Cell,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

thread_local! {
    /// Whether wakes by the thread that runs a task are held back.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Ends it, also where there is a panic.
struct Quiet;

impl Drop for Quiet {
    fn drop(&mut self) {
        IS_QUIET.set(false);
    }
}

/// Does something at once, by which the work of [`with_quiet`] wakes nobody on this thread. Whoever needs to be woken has to do it after.
pub fn quietly<T>(work: impl FnOnce() -> T) -> T {
    IS_QUIET.set(true);
    let _quiet = Quiet;
    work()
}

/// Does this work, whose wakes can be held back. It stays in the task in which it begins.
pub async fn with_quiet<F: Future>(mut work: Pin<&mut F>) -> F::Output {
    let waker = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
    let waker = Waker::from(Arc::new(TaskWaker(waker)));
    poll_fn(|_| work.as_mut().poll(&mut Context::from_waker(&waker))).await
}

/// Wakes a task, unless that is held back.
struct TaskWaker(Waker);

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        if !IS_QUIET.get() {
            self.0.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn only_wakes_by_the_task_itself_are_held_back() {
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let counted = || count.0.load(Ordering::Relaxed);
        let work = poll_fn(|context| {
            let waker = context.waker();
            let wake = || waker.wake_by_ref();
            quietly(wake);
            assert_eq!(counted(), 0);
            quietly(|| std::thread::scope(|scope| scope.spawn(wake).join().expect("it wakes")));
            assert_eq!(counted(), 1);
            let fault = std::panic::catch_unwind(|| quietly(|| panic!("a fault")));
            assert!(fault.is_err());
            wake();
            assert_eq!(counted(), 2);
            Poll::Ready(())
        });
        let waker = Waker::from(count.clone());
        let mut context = Context::from_waker(&waker);
        let done = pin!(with_quiet(pin!(work))).poll(&mut context);
        assert!(done.is_ready());
    }
}
