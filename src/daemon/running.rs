//! A daemon that runs: its core, the faces over it, and where it says that they are.

use std::{net::SocketAddr, time::Duration};

use tokio::net::TcpListener;

use super::{
    BoundSockets, Core, CoreParts, DaemonTasks, RunningDaemon, ServeError, faces, tasks::Ends,
    url_of,
};
use crate::{
    api::{Api, ApiParts},
    management::DaemonLocation,
};

/// Puts everything together and serves. `background` is what `status` reports of a daemon in the background.
pub(super) fn begin(
    parts: CoreParts,
    sockets: BoundSockets,
    background: DaemonLocation,
    idle_exit: Option<Duration>,
) -> Result<RunningDaemon, ServeError> {
    let addresses = sockets.tcp.iter().map(TcpListener::local_addr);
    let addresses: Vec<SocketAddr> = addresses.filter_map(Result::ok).collect();
    let location = DaemonLocation {
        data_dir: parts.data_dir.clone(),
        listen: addresses.clone(),
        url: url_of(&addresses),
        ..background
    };
    let ends = Ends::default();
    let (core, core_tasks) = Core::open(parts, &ends)?;
    // No server may lead there.
    core.keeper.note_sockets(addresses.clone());
    let behind = core_tasks.spawn(&core, &ends);
    let api = open_api(&core, location.clone());
    // Who gets an answer finds the address written.
    core.files.note_address(&location);
    let faces = faces::open(&core, &api, sockets, &ends.closing);
    Ok(RunningDaemon {
        addresses,
        data_dir: location.data_dir,
        idle_exit,
        tasks: DaemonTasks {
            ends,
            faces,
            behind,
        },
        core,
    })
}

fn open_api(core: &Core, location: DaemonLocation) -> Api {
    let (counted, listed) = (core.sessions.clone(), core.sessions.clone());
    let activity = core.activity.clone();
    Api::new(ApiParts {
        management: core.management.clone(),
        router: core.router.clone(),
        access: core.access.clone(),
        calls: core.calls.clone(),
        location,
        places: core.places.clone(),
        login_path: core.login_path.clone(),
        ledger: core.ledger.clone(),
        count_sessions: Box::new(move || counted.count()),
        list_sessions: Box::new(move |most| listed.list(most, activity.client_names())),
    })
}
