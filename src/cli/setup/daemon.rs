//! Step 3 of `mcpproxy setup`: a running daemon that clients can reach.

use super::{
    super::{CommandFailure, Done, Output, connection, service, start, typed::setup_at},
    SetupCommand, SetupReport,
    report::{DaemonRow, say_step},
};
use crate::{
    config::{Listen, Places},
    daemon_client::DaemonClient,
    doctor::{self, TakenPort},
    management::{DaemonLocation, Files},
};

/// The step that is left if the daemon is no service.
const AT_LOGIN: &str = "start at every login: `mcpproxy service install`";

impl SetupCommand {
    /// The daemon: the one that runs, or a new one, as a service or in the background.
    pub(super) async fn daemon(
        &self,
        files: &Files,
        report: &mut SetupReport,
        out: Output,
    ) -> Done<DaemonClient> {
        let running = connection::open_if_running(files, out).await?;
        let offers = !self.no_service && service::has_manager();
        let asks = running.is_none() && offers && !self.yes && out.is_interactive();
        let is_service = self.service || asks && out.asks("Start mcpproxy at every login?");
        if is_service {
            out.progress("installing the service");
            let installed = service::install(files).await?;
            let is_running = installed.is_running();
            // People read at the end why there is no service manager.
            if installed.unmanaged.is_none() || out.is_json() {
                report.next_steps.extend(installed.next_steps);
            }
            report.no_service = installed.unmanaged;
            if is_running {
                let daemon = connection::open_soon(files, out).await?;
                let how = ("service", "runs as a service, at every login");
                return reachable(files, daemon, how, report, out).await;
            }
        }
        if let Some(daemon) = running {
            if !is_service && offers && service::installed().is_none() {
                report.next_steps.push(AT_LOGIN.to_owned());
            }
            return reachable(files, daemon, ("running", "already running"), report, out).await;
        }
        if is_service && report.no_service.is_none() {
            out.note("the service did not start; the daemon runs in the background for now");
        }
        let daemon = start::start(files, &[], out).await?;
        // A person who was questioned has said no.
        if !is_service && !asks && offers {
            report.next_steps.push(AT_LOGIN.to_owned());
        }
        let how = ("background", "runs in the background");
        reachable(files, daemon, how, report, out).await
    }
}

/// Reports the daemon, whose start `how` and `did` describe for programs and people. Fails if clients cannot reach it.
async fn reachable(
    files: &Files,
    daemon: DaemonClient,
    (how, did): (&'static str, &str),
    report: &mut SetupReport,
    out: Output,
) -> Done<DaemonClient> {
    let status = daemon.status_report();
    let status = status.map(|status| (status.pid, status.location));
    let (pid, location) = status.unwrap_or_default();
    let page = location.page_base();
    let Some(url) = location.url.clone() else {
        return Err(without_http(files, &location).await);
    };
    say_step(3, &format!("daemon {did}: {url}"), out);
    report.daemon = Some(DaemonRow {
        how,
        url,
        page: page.map(|base| format!("{base}/ui/")),
        pid,
    });
    Ok(daemon)
}

/// The failure if clients cannot reach the running daemon.
async fn without_http(files: &Files, location: &DaemonLocation) -> CommandFailure {
    let listen = match files.supposed_settings() {
        Ok(found) => found.settings.listen,
        Err(error) => return error.into(),
    };
    let what = format!("no client can connect to {listen}");
    if !location.local_only
        && let Some(taken) = TakenPort::of(listen).await
    {
        let what = format!("{what}: the port is taken{}", taken.by);
        return taken_port(&what, &taken, "mcpproxy stop && ", files.places());
    }
    let (why, step) = doctor::why_unheard(listen, location, files.places()).await;
    CommandFailure::failed(format!("{what}: {why}"))
        .next(format!("{step}, then run the same command again"))
}

fn taken_port(what: &str, taken: &TakenPort, first: &str, places: &Places) -> CommandFailure {
    let take = if places.shares_file() {
        taken.move_away(places)
    } else {
        let setup = setup_at(&format!("--port {}", taken.free.port()));
        format!("`{first}{setup}`")
    };
    CommandFailure::failed(what).next(taken.step(&take))
}

/// The address for a daemon to be started. If another program has its port, the person at the terminal may agree to a free one.
pub(super) async fn free_address(
    files: &Files,
    chosen: Option<Listen>,
    yes: bool,
    out: Output,
) -> Done<Option<Listen>> {
    let supposed = files.supposed_settings().map_err(CommandFailure::from)?;
    let configured = supposed.settings.listen;
    let listen = chosen.unwrap_or(configured);
    let Some(taken) = TakenPort::of(listen).await else {
        return Ok(chosen);
    };
    let what = format!("{listen} is taken{}", taken.by);
    // An address in the file may be in clients' files, too, so `--yes` replaces the default address only.
    let is_usual = chosen.is_none() && configured == Listen::default();
    let agrees = !taken.is_mcpproxy
        && if yes {
            is_usual
        } else {
            out.agrees(&format!("{what}. Listen on {} instead?", taken.free))
        };
    if !agrees {
        return Err(taken_port(&what, &taken, "", files.places()));
    }
    if yes {
        out.note(&what);
    }
    Ok(Some(taken.free))
}
