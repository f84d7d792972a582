//! The daemon: the one that runs, or a new one, as a service or in the background.

use super::{
    super::{background::Starter, connection, failure::CommandFailure, output::Output, service},
    report::SetupReport,
    step,
};
use crate::{
    bridge::BridgeHost,
    daemon_client::DaemonClient,
    doctor,
    management::{Management, OverFiles, StatusReport},
};

/// How a daemon is started where none runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Service,
    Background,
    Ask,
}

impl How {
    pub(super) fn asked(service: bool, no_service: bool, yes: bool, out: Output) -> Self {
        if service {
            Self::Service
        } else if no_service || yes || !out.is_interactive() {
            Self::Background
        } else {
            Self::Ask
        }
    }
}

/// The daemon that runs then.
pub(super) async fn started(
    files: &Management<OverFiles>,
    how: How,
    report: &mut SetupReport,
    out: Output,
) -> Result<DaemonClient, CommandFailure> {
    if let Some(daemon) = connection::open_if_running(files, out).await? {
        return told(files, daemon, "running", report, out).await;
    }
    let is_service = match how {
        How::Service => true,
        How::Background => false,
        How::Ask => out.asks("Start mcpproxy at every login?"),
    };
    if is_service {
        out.progress("installing the service");
        let installed = service::install(files).await?;
        report.next_steps.extend(installed.next_steps);
        if installed.is_started {
            let daemon = connection::open_soon(files, out).await?;
            return told(files, daemon, "service", report, out).await;
        }
        out.note("the service manager did not start it from here, so it is started in the background for now");
    }
    out.progress("starting the daemon");
    let starter = Starter::lasting(files.places().clone(), files.data_dir().to_owned(), out);
    starter.start_daemon().await.map_err(|why| {
        CommandFailure::failed(why)
            .next("`mcpproxy doctor` says what is wrong; then run `mcpproxy setup` again")
    })?;
    let daemon = connection::open_soon(files, out).await?;
    if !is_service {
        report
            .next_steps
            .push("`mcpproxy service install` starts the daemon at every login".to_owned());
    }
    told(files, daemon, "background", report, out).await
}

async fn told(
    files: &Management<OverFiles>,
    daemon: DaemonClient,
    how: &'static str,
    report: &mut SetupReport,
    out: Output,
) -> Result<DaemonClient, CommandFailure> {
    let status: Option<StatusReport> = serde_json::from_slice(daemon.status()).ok();
    let url = status
        .as_ref()
        .and_then(|status| status.location.url.clone());
    let Some(url) = url else {
        return Err(without_http(files).await);
    };
    let did = match how {
        "running" => "runs already",
        "service" => "runs as a service, at every login",
        _ => "runs in the background",
    };
    step(3, &format!("daemon {did}: {url}"), out);
    report.daemon = Some(super::report::DaemonRow {
        how,
        url: Some(url),
        pid: status.map(|status| status.pid),
    });
    Ok(daemon)
}

/// That no client would reach the daemon that runs.
async fn without_http(files: &Management<OverFiles>) -> CommandFailure {
    let settings = files.supposed_settings().map(|found| found.settings);
    let listen = settings.unwrap_or_default().listen;
    let who = doctor::who_has(listen).await;
    let file = files.config_file().display();
    let another = listen.port().checked_add(1).unwrap_or(8081);
    CommandFailure::failed(format!(
        "the daemon runs and serves its local socket only, so no client can connect to {listen}: {who}"
    ))
    .next(format!(
        "`mcpproxy stop`, because a daemon takes its port at its start only; then `mcpproxy setup --port {another}`, which writes \"listen\" to {file}, or, once nobody has the port, `mcpproxy setup` again. What was done stays"
    ))
}
