//! Waiting for what may never come.

/// What comes of a future, if there is one; without one this waits for ever. Cancel-safe where the future is.
pub async fn or_never<F: Future>(future: Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
