//! `mcpproxy setup`: creates the configuration, imports servers, starts the daemon, connects clients and makes a test call. Each step does
//! what a command of its own does.

mod address;
mod choice;
mod clients;
mod configuration;
mod daemon;
mod import_servers;
mod proof;
mod report;

use std::time::Instant;

use clap::Args;

use self::{
    address::{check_address, chosen_address},
    choice::Choice,
    clients::connect_clients,
    configuration::configure,
    import_servers::{import_servers, move_servers},
    report::SetupReport,
};
use super::{
    CommandFailure, Done, Location, OrUndone, Output, connection, example_call,
    import::{self, values::SecretsPlace},
    mistake::whole_number,
    output,
    unusable_file::refuse_unusable,
};
use crate::{
    clients::{client_of_word, home_places, our_address},
    config::Listen,
    management::Files,
};

/// Import servers, start the daemon and connect your clients
///
/// You can run this command again at any time; it skips finished steps.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub(super) struct SetupCommand {
    /// Import from a client or a file, `all` or `none`; may be repeated
    #[arg(long, value_name = "CLIENT|FILE|all|none")]
    import: Vec<String>,
    /// Connect a client, `all` installed ones or `none`; may be repeated
    #[arg(long, value_name = "CLIENT|all|none")]
    connect: Vec<String>,
    /// The daemon's port on 127.0.0.1, saved in the configuration
    #[arg(long, value_name = "PORT", value_parser = whole_number(1..=65_535_u16), conflicts_with = "listen")]
    port: Option<u16>,
    /// The daemon's address, such as `[::1]:8081`
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Start the daemon at every login
    #[arg(long, conflicts_with = "no_service")]
    service: bool,
    /// Start the daemon in the background, not at every login
    #[arg(long)]
    no_service: bool,
    /// Store secrets in the keyring, or in the configuration file
    #[arg(long, value_name = "keyring|file", hide_possible_values = true)]
    secrets: Option<SecretsPlace>,
    /// Do not ask; import and connect all, store secrets in the keyring
    #[arg(short, long)]
    yes: bool,
    /// Keep imported servers in the clients' files, too; each then runs twice
    #[arg(long)]
    no_move: bool,
}

const UNDONE: &str = "nothing was set up";

impl SetupCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let (began, out) = (Instant::now(), out.unasked(self.yes));
        let taken = Choice::of("--import", &self.import, self.yes, out)?;
        let connect = Choice::of("--connect", &self.connect, self.yes, out)?;
        let listen = chosen_address(self.listen.as_deref(), self.port).or_undone(UNDONE)?;
        let files = location.files()?;
        if let Choice::Named(words) = &connect {
            for word in words {
                client_of_word(word).map_err(|unknown| {
                    CommandFailure::usage(format!("--connect: {unknown}"))
                        .undone(UNDONE)
                        .next("`mcpproxy connect --help` lists the clients")
                })?;
            }
        }
        if let Choice::Named(words) = &taken {
            import::check_words(&files, words).or_undone(UNDONE)?;
        }
        let mut report = SetupReport::of(files.config_file());
        let steps = self.steps(&files, listen, &taken, &connect, &mut report, out);
        steps
            .await
            .map_err(|failure| failure.or_next("correct that, then run the same command again"))?;
        report.finish(began.elapsed());
        if out.is_json() {
            output::print_value(&report)?;
        } else {
            report.say_end(out);
        }
        match report.no_service {
            Some(failure) => Err(failure.undone("the service was not enabled").shown()),
            None => Ok(()),
        }
    }

    async fn steps(
        &self,
        files: &Files,
        listen: Option<Listen>,
        import: &Choice,
        connect: &Choice,
        report: &mut SetupReport,
        out: Output,
    ) -> Done {
        let running = connection::open_unless_absent(files, out).await?;
        if let (Some(listen), Some(daemon)) = (listen, &running) {
            check_address(listen, connection::location_of(daemon).as_ref())?;
        }
        if let Some(daemon) = &running
            && (listen.is_some() || !files.config_file().exists())
        {
            refuse_unusable(files, daemon.status_report(), UNDONE)?;
        }
        let listen = match &running {
            Some(_) => listen,
            None => daemon::free_address(files, listen, self.yes, out)
                .await
                .or_undone(UNDONE)?,
        };
        files.supposed_settings().or_undone(UNDONE)?;
        configure(files, listen, report, out)?;
        let secrets = self.secrets.or(self.yes.then_some(SecretsPlace::Keyring));
        let found = import_servers(files, running, import, secrets, report, out).await?;
        let mut daemon = self.daemon(files, report, out).await?;
        proof::wait_until_listed(&mut daemon, report, out).await?;
        connect_clients(files, &daemon, connect, report, out)?;
        if let Some(mut found) = found {
            let is_left = self.no_move || !(self.yes || out.is_interactive());
            let moves = (is_left || self.yes).then_some(!is_left);
            let us = our_address(files, connection::location_of(&daemon).as_ref());
            let left = move_servers(&mut found, moves, (&home_places(files)?, &us), report, out);
            // Whoever wants them to stay is not reminded.
            report.next_steps.extend(left.filter(|_| !self.no_move));
        }
        let works = |server: &str| report.works(server);
        report.example = example_call::harmless(&mut daemon, works).await;
        proof::call(files, &daemon, report, out).await
    }
}
