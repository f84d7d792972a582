//! The first step: a configuration file, and the address in it.

use serde_json::json;

use super::{
    super::{
        config::correct_the_file,
        failure::CommandFailure,
        import,
        output::{self, Output},
    },
    report::{SetupReport, say_step},
};
use crate::{
    config::{self, EditError, Listen},
    daemon_client::DaemonClient,
    management::{Management, OverFiles},
};

/// What a new configuration says.
const BEGINNING: &str = "\
{
  // The servers behind mcpproxy: `mcpproxy upstream add` and `mcpproxy import` write here, too.
  \"mcpServers\": {}
}
";

/// The address in the arguments.
pub(super) fn chosen_address(
    listen: Option<&str>,
    port: Option<u16>,
) -> Result<Option<Listen>, CommandFailure> {
    let port = port.map(|port| format!("127.0.0.1:{port}"));
    let Some(text) = listen.map(str::to_owned).or(port) else {
        return Ok(None);
    };
    let listen: Listen = text.parse().map_err(|bad: config::BadListen| {
        CommandFailure::usage(bad.what()).next(config::BadListen::STEP)
    })?;
    if listen.port() == 0 {
        let what = "port 0 changes at every start, and clients' files need one address";
        return Err(CommandFailure::usage(what).next("name a port that is free, such as 8081"));
    }
    if !listen.is_loopback() {
        let what = format!("other machines can reach {listen}, and traffic there is not encrypted");
        return Err(
            CommandFailure::usage(what).next(format!("`mcpproxy setup --port {}`", listen.port()))
        );
    }
    Ok(Some(listen))
}

/// Refuses another address than that of a daemon that runs: it would be in force at its next start only, and clients would be connected to
/// an address where nobody is.
pub(super) fn check_address(listen: Listen, running: &DaemonClient) -> Result<(), CommandFailure> {
    let location = import::location_of(running);
    let ending = format!(":{}", listen.port());
    let mut listens = location.iter().flat_map(|location| &location.listen);
    if listens.any(|address| address.ends_with(&ending)) {
        return Ok(());
    }
    let at = location.and_then(|location| location.url);
    let at = at.unwrap_or_else(|| "its local socket only".to_owned());
    Err(CommandFailure::failed(format!(
        "the daemon runs at {at} already, and a new address needs a restart"
    ))
    .undone("nothing was set up")
    .next(format!(
        "`mcpproxy stop`, then `mcpproxy setup --listen {listen}`"
    )))
}

/// A file that a daemon has read more of, and that is gone or empty now, is not begun anew.
pub(super) fn refuse_fault(
    files: &Management<OverFiles>,
    daemon: &DaemonClient,
) -> Result<(), CommandFailure> {
    let Some(status) = daemon.status_report() else {
        return Ok(());
    };
    let step = correct_the_file(&status.config_file, files);
    let failed = |error| {
        CommandFailure::failed(error)
            .undone("nothing was set up")
            .next(step)
    };
    status
        .config_error
        .map_or(Ok(()), |error| Err(failed(error)))
}

/// Writes a configuration where there is none, and the address that was chosen.
pub(super) fn write_configuration(
    files: &Management<OverFiles>,
    listen: Option<Listen>,
    report: &mut SetupReport,
    out: Output,
) -> Result<(), CommandFailure> {
    let file = files.config_file();
    let is_new = !file.exists();
    if is_new {
        let begin = |text: &str| {
            let is_empty = text.trim().is_empty();
            Ok(if is_empty { BEGINNING } else { text }.to_owned())
        };
        files.rewrite_text(begin).map_err(CommandFailure::from)?;
    }
    let write = |key: &str, listen: Listen| {
        let put = |text: &str| {
            let written = config::json_with(text, &[key.to_owned()], &json!(listen.to_string()));
            written.map_err(EditError::from)?.ok_or(EditError::NoKey)
        };
        files.rewrite_text(put).map_err(CommandFailure::from)
    };
    // Written down, so that whatever starts the daemon later, and whatever connects to it, goes by the same one.
    if let Some(listen) = listen
        && write("listen", listen)?
    {
        out.note(&format!("\"listen\" is {listen} in {} now", file.display()));
    }
    // Whatever refers to secrets is looked at when it is used.
    let settings = files.supposed_settings().map_err(CommandFailure::from)?;
    let settings = settings.settings;
    report.config_created = is_new;
    let n = settings.servers.len() + settings.broken.len();
    let has = match n {
        0 => "no server yet".to_owned(),
        n => output::count(n, "server"),
    };
    let did = if is_new { "made" } else { "is there" };
    say_step(
        1,
        &format!("configuration {did}: {} ({has})", file.display()),
        out,
    );
    Ok(())
}
