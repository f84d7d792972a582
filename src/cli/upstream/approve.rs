//! `mcpproxy upstream approve`: a person trusts what a server lists.

use clap::Args;
use http::Method;

use super::{
    super::{
        Location, connection,
        failure::CommandFailure,
        output::{self, Output},
    },
    inspect::{inspection, print_thing},
};
use crate::{
    daemon_client::{self, AnswerDeadline},
    management::{ApprovalBody, ServerChange},
};

/// Approve a quarantined server as it is, or what is held of a server
///
/// What is approved is exactly what `upstream inspect` showed: with --seen, a change since then is refused. Without it, what is held
/// is shown and approved as it is now.
#[derive(Debug, Args)]
pub(in crate::cli) struct ApproveServer {
    /// The server's name, as `upstream list` shows it
    name: String,
    /// The tools, prompts or resources to approve; a quarantined server is approved as a whole
    #[arg(value_name = "TOOL")]
    things: Vec<String>,
    /// Approve everything that the server lists now
    #[arg(long, conflicts_with = "things")]
    all: bool,
    /// What `upstream inspect` said was seen
    #[arg(long, value_name = "SEEN")]
    seen: Option<String>,
}

impl ApproveServer {
    pub(super) async fn run(self, location: &Location, out: Output) -> Result<(), CommandFailure> {
        let files = location.files()?;
        let mut daemon = connection::open_if_running(&files, out).await?;
        let seen = if let Some(seen) = self.seen {
            seen
        } else {
            let shown = inspection(&files, daemon.as_mut(), &self.name).await?;
            if !out.is_json() {
                shown.things.iter().try_for_each(print_thing)?;
            }
            shown.seen
        };
        let body = ApprovalBody {
            seen,
            names: self.things,
            all: self.all,
            by: who(),
        };
        let change = match &mut daemon {
            Some(daemon) => {
                let name = daemon_client::encoded(&self.name);
                let path = format!("/api/v1/servers/{name}/approve");
                let body = output::as_json(&body)?;
                let deadline = AnswerDeadline::Daemon;
                let answer = daemon.send(Method::POST, &path, body, deadline).await?;
                daemon_client::read::<ServerChange>(&path, &answer)?
            }
            None => files.approve(&self.name, body).await?,
        };
        if out.is_json() {
            return output::json(&output::as_json(&change)?);
        }
        let left = change.server.held.unwrap_or_default();
        let left = match left {
            0 => "nothing of it is held".to_owned(),
            held => format!("{held} of what it lists are still held"),
        };
        out.note(&format!("approved {:?}: {left}", self.name));
        Ok(())
    }
}

/// Whoever types this, as far as this machine knows.
fn who() -> Option<String> {
    let named = ["USER", "LOGNAME", "USERNAME"];
    let found = named.iter().find_map(|name| std::env::var(name).ok());
    found.filter(|name| !name.is_empty())
}
