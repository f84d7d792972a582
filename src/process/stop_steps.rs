//! The steps by which a child ends with all that it started: by itself, then by SIGTERM, then by SIGKILL. `Group` carries them out.

use std::time::Duration;

use tokio::{sync::watch, time::timeout};

use super::{Exit, Grace, group::Group, process_table::Signal};

/// How long to wait for killed processes to be gone. Only a system call that cannot be interrupted delays that.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// Follows the group from its start to the time when nothing of it is left.
///
/// `stop_requests` says when to stop: `Some(grace)` step by step, a dropped sender at once.
pub(super) async fn follow(
    group: &mut Group,
    mut stop_requests: watch::Receiver<Option<Grace>>,
) -> Exit {
    let grace = tokio::select! {
        // A request to stop counts even if the leader was quicker, for the sake of the members behind it.
        biased;
        grace = stop_requests.wait_for(Option::is_some) => grace.ok().and_then(|grace| *grace),
        _ = group.leader_exit() => None,
    };
    if let Some(grace) = grace {
        tokio::select! {
            () = ask(group, grace) => {}
            () = abandoned(&mut stop_requests) => {}
        }
    }
    kill(group).await
}

/// Waits for the leader, whose input has ended; what is left then gets SIGTERM. Members that outlive the leader get the rest of
/// the grace: behind a wrapper that dies at once may be a server that still has things to put in order.
pub(super) async fn ask(group: &mut Group, grace: Grace) {
    let ended = timeout(grace.after_eof, group.leader_exit()).await.is_ok();
    if ended && !group.has_living().await {
        return;
    }
    group.signal(Signal::Terminate).await;
    let all_gone = async {
        group.leader_exit().await;
        group.wait_until_gone(None).await;
    };
    // The remaining ones are killed next.
    let _ = timeout(grace.after_term, all_gone).await;
}

/// Kills whatever is left, also after a leader that ended well: its children need not have.
pub(super) async fn kill(group: &mut Group) -> Exit {
    group.signal(Signal::Kill).await;
    let exit = group.leader_exit().await;
    let killing = group.wait_until_gone(Some(Signal::Kill));
    if timeout(AFTER_KILL, killing).await.is_err() {
        tracing::warn!(group = group.pid(), "killed process stuck in the kernel");
    }
    group.reap().await;
    exit
}

/// Resolves when the `Process` was dropped.
async fn abandoned(stop_requests: &mut watch::Receiver<Option<Grace>>) {
    while stop_requests.changed().await.is_ok() {}
}
