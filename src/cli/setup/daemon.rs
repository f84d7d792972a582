//! The third step: a daemon that clients can reach.

use super::{
    super::{connection, failure::CommandFailure, output::Output, service, start},
    SetupCommand,
    report::{DaemonRow, SetupReport},
    step::SetupStep,
};
use crate::{
    daemon_client::DaemonClient,
    doctor,
    management::{Management, OverFiles},
};

impl SetupCommand {
    /// The daemon: the one that runs, or a new one, as a service or in the background.
    pub(super) async fn daemon(
        &self,
        files: &Management<OverFiles>,
        report: &mut SetupReport,
        out: Output,
    ) -> Result<DaemonClient, CommandFailure> {
        if let Some(daemon) = connection::open_if_running(files, out).await? {
            return reachable(files, daemon, ("running", "runs already"), report, out).await;
        }
        let asks = !self.no_service && !self.yes && out.is_interactive();
        let is_service = self.service || asks && out.asks("Start mcpproxy at every login?");
        if is_service {
            out.progress("installing the service");
            let installed = service::install(files).await?;
            report.next_steps.extend(installed.next_steps);
            if installed.is_started {
                let daemon = connection::open_soon(files, out).await?;
                let how = ("service", "runs as a service, at every login");
                return reachable(files, daemon, how, report, out).await;
            }
            out.note("the service manager did not start it; it runs in the background for now");
        }
        let daemon = start::start(files, out).await?;
        if !is_service {
            let later = "start at every login: `mcpproxy service install`";
            report.next_steps.push(later.to_owned());
        }
        let how = ("background", "runs in the background");
        reachable(files, daemon, how, report, out).await
    }
}

/// The daemon, if clients can reach it.
async fn reachable(
    files: &Management<OverFiles>,
    daemon: DaemonClient,
    (how, did): (&'static str, &str),
    report: &mut SetupReport,
    out: Output,
) -> Result<DaemonClient, CommandFailure> {
    let status = daemon.status_report();
    let found = status.and_then(|status| {
        let page = status.location.page_base();
        Some((status.location.url?, page, status.pid))
    });
    let Some((url, page, pid)) = found else {
        return Err(without_http(files).await);
    };
    SetupStep::Daemon.say(&format!("daemon {did}: {url}"), out);
    let page = page.map(|base| format!("{base}/ui/"));
    report.daemon = Some(DaemonRow {
        how,
        url,
        page,
        pid,
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
        "no client can connect to {listen}: {who}"
    ))
    .next(format!(
        "`mcpproxy stop`, because a daemon takes its port at its start only; then `mcpproxy setup --port {another}`, which writes \"listen\" to {file}, or, once nobody has the port, `mcpproxy setup` again. What was done stays"
    ))
}
