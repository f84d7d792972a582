//! `mcpproxy ui`: opens the web UI in a browser, logged in.

use clap::Args;
use http::Method;

use super::{Done, Location, Output, browser, connection, output, start};
use crate::{daemon_client, management::PageLink};

/// Open the web UI, logged in
///
/// The link that the browser opens works once, within 2 min. For a browser on another machine, run `ssh -L PORT:127.0.0.1:PORT HOST`
/// there, with mcpproxy's port, and `mcpproxy ui --print` in that session.
#[derive(Debug, Args)]
pub(super) struct UiCommand {
    /// Print the link instead of opening the browser
    #[arg(long, alias = "no-browser")]
    print: bool,
}

impl UiCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        let mut daemon = connection::open_to_act(&files, out, "no page was opened").await?;
        if let Some(location) = connection::location_of(&daemon)
            && location.url.is_none()
        {
            return Err(start::unheard(&files, &location, "no page was opened").await?);
        }
        let path = "/api/v1/ui/links";
        let answer = daemon.ask(Method::POST, path, "").await?;
        let link: PageLink = daemon_client::read(path, &answer)?;
        if out.is_json() {
            return output::print_json(&answer);
        }
        if !self.print && browser::open(&link.url).await {
            out.done("opened the web UI in your browser; if nothing opened: `mcpproxy ui --print`");
            return Ok(());
        }
        output::print_line(&format!("{}\n", link.url))?;
        out.note(&format!(
            "open this link in a browser within {} s: it logs you in, once",
            link.expires_in_seconds
        ));
        Ok(())
    }
}
