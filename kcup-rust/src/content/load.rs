//! Loading on a thread of its own.

use std::future::Future;
use std::sync::Arc;
use std::thread;

use tokio::sync::oneshot;

use super::source::{enough, read};
use super::{Content, cannot};
use crate::config::Options;

/// Loads the content; `None` if `stop` is ready first (K-13).
pub async fn load_unless(
    stop: impl Future<Output = ()>,
    options: &Arc<Options>,
    has_memory: impl Fn(u64) -> bool + Send + 'static,
) -> Result<Option<Content>, String> {
    let options = options.clone();
    tokio::select! {
        loaded = apart(move || Content::new(read(&options, enough(&options), &has_memory)?, &options)) => loaded.map(Some),
        () = stop => Ok(None),
    }
}

/// Runs blocking work on a thread of its own, which has ended when the result is there: a thread that stayed would stay
/// outside the sandbox.
pub async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (running, ended) = oneshot::channel::<()>();
    let thread = thread::Builder::new().name("loader".into()).spawn(move || {
        let _running = running;
        work()
    });
    let thread = thread.map_err(cannot("start a thread"))?;
    // Nothing is ever sent: the channel closes when the thread ends.
    let _ = ended.await;
    thread.join().expect("loading does not panic")
}
