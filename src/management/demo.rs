//! The bundled demo server, started while the daemon runs: nothing is downloaded and nothing is written, and it goes with the daemon, or when
//! it is removed.

use super::{Backing, Management, servers::ServerChange};
use crate::{
    activity::OperatorChange,
    config::{DEMO, DemoOrigin},
    error_code::{ErrorCode, Failure},
    process::own_program,
};

impl Management {
    /// Starts the demo server beside what the file says.
    pub async fn start_demo(&self) -> Result<ServerChange, Failure> {
        if self.server(DEMO).is_ok() {
            let error = format!("there is a server {DEMO:?} already");
            let hint = format!("`mcpproxy upstream remove {DEMO}` takes it out.");
            return Err(Failure::new(ErrorCode::ServerExists, error, hint).of_server(DEMO));
        }
        let program = own_program().map_err(|reason| {
            let error = format!("the demo server cannot be found: {reason}");
            Failure::new(ErrorCode::Internal, error, "Start the daemon again.")
        })?;
        self.0.keeper.set_demo(Some(program)).await;
        let started = self.server(DEMO);
        self.0.note(OperatorChange {
            detail: Some("the demo server, until the daemon ends; nothing is written".to_owned()),
            error: started.as_ref().err().map(|failure| failure.error.clone()),
            ..OperatorChange::by_operator("add", DEMO)
        });
        let started = started?;
        self.0.follows(DEMO).await;
        Ok(ServerChange::of(
            self.server(DEMO).unwrap_or(started),
            &["added"],
        ))
    }
}

impl<B: Backing> Management<B> {
    /// Of a server that is there, but not in the file, it is said how it came, and what ends it.
    pub(super) fn not_in_file(&self, name: &str, failure: Failure) -> Failure {
        let origin = self.server(name).ok().and_then(|row| row.demo);
        let Some(origin) = origin.filter(|_| failure.code == ErrorCode::UnknownServer) else {
            return failure;
        };
        let (started, hint) = match origin {
            DemoOrigin::CommandLine => (
                "`mcpproxy serve --demo` adds it",
                "Start the daemon without --demo to be rid of it; an entry of its name in the file takes its place.",
            ),
            DemoOrigin::Request => (
                "it was started on the page, or over REST",
                "`mcpproxy upstream remove demo` ends it, and so does the end of the daemon; an entry of its name in the file takes its place.",
            ),
        };
        let error = format!(
            "the server {name:?} is the bundled demo server, which has no entry in {}: {started}",
            self.config_file().display()
        );
        Failure::new(ErrorCode::NotInFile, error, hint).of_server(name)
    }
}
