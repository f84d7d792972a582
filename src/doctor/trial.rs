//! Starts and contacts servers as a daemon does, and ends them again. What they list is not kept.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::future::join_all;
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use crate::{
    activity::Activity,
    authorization::Logins,
    catalog::{Catalog, KnownServer},
    config::Settings,
    gate,
    management::LeftOut,
    process::{ChildLedger, LoginPath, own_words},
    storage,
    text::{names::ServerName, secret::Secrets},
    upstream::{ConnectContext, ConnectError, Supervisor, Upstream},
};

/// How many lines of the log of a server that fails are kept.
const LAST_LINES: usize = 11;

/// What it takes to try servers.
pub(super) struct Trial<'a> {
    /// The servers that are tried, and nothing that must not be started.
    pub(super) settings: Arc<Settings>,
    /// Where their logs and logins are; a folder that goes with the trial, if there is none.
    pub(super) data_dir: Option<&'a Path>,
    /// The children of the daemon that runs.
    pub(super) ledger: Option<ChildLedger>,
    pub(super) login_path: LoginPath,
    /// How long all of them may take.
    pub(super) within: Duration,
    /// Ends it early.
    pub(super) ending: CancellationToken,
}

/// What came of trying a server.
pub(super) enum TrialOutcome {
    /// Its tools were listed.
    Answered {
        tools: usize,
        left_out: Option<LeftOut>,
    },
    Failed {
        error: ConnectError,
        /// The last lines of its log.
        log: Vec<String>,
    },
    /// It did not answer in time.
    Late,
}

impl Trial<'_> {
    /// Tries them, a few at a time, and returns when they have ended.
    pub(super) async fn run(self) -> io::Result<Vec<(ServerName, TrialOutcome)>> {
        let scratch = Scratch::new()?;
        let settings = self.settings;
        let (_published, watched) = watch::channel(settings.clone());
        // Logs of servers belong where `upstream logs` looks for them, and a ledger where the next daemon does.
        let data_dir = self.data_dir.filter(|folder| folder.is_dir());
        let kept = data_dir.unwrap_or(&scratch.0);
        let ledger = match self.ledger {
            Some(ledger) => ledger,
            None => ChildLedger::open(kept)?,
        };
        let known = settings.servers.values().map(|entry| KnownServer {
            name: entry.name.clone(),
            entry: entry.fingerprint.clone(),
            policy: gate::policy(&settings, entry),
        });
        let (catalog, catalog_task) = Catalog::open(&scratch.0, known.collect(), None);
        let context = ConnectContext {
            data_dir: kept.to_owned(),
            ledger,
            login_path: self.login_path,
            activity: Activity::none(),
            logins: Logins::new(kept),
            keeper: None,
        };
        let (ending, hurry) = (self.ending, CancellationToken::new());
        let (upstreams, supervisor) =
            Supervisor::new(watched, catalog.clone(), context, hurry.clone());
        let deadline = Instant::now() + self.within;
        let secrets = settings.secrets();
        let asking = async {
            let tried = async {
                upstreams.begun().await;
                let all = upstreams.all();
                let tried = all.iter();
                let tried = tried.map(|upstream| outcome(upstream, &catalog, &secrets, deadline));
                join_all(tried).await
            };
            let tried = ending.run_until_cancelled(tried).await;
            ending.cancel();
            tried.unwrap_or_default()
        };
        let ((), (), mut tried) = tokio::join!(
            supervisor.run(ending.clone()),
            catalog_task.run(ending.clone()),
            asking
        );
        tried.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(tried)
    }
}

async fn outcome(
    upstream: &Upstream,
    catalog: &Catalog,
    secrets: &Secrets,
    deadline: Instant,
) -> (ServerName, TrialOutcome) {
    let name = upstream.name().clone();
    if timeout_at(deadline, upstream.settled()).await.is_err() {
        return (name, TrialOutcome::Late);
    }
    let listed = catalog.glance().servers.get(&name).cloned();
    let outcome = match (listed, upstream.status().last_error) {
        (Some(server), _) => TrialOutcome::Answered {
            tools: server.tools.len(),
            left_out: LeftOut::of(&server, secrets),
        },
        (None, Some(error)) => {
            let log = upstream.stderr().tail(LAST_LINES);
            let log = log.iter().filter_map(|line| own_words(line));
            TrialOutcome::Failed {
                error,
                log: log
                    .map(|words| secrets.redacted(words).into_owned())
                    .collect(),
            }
        }
        (None, None) => TrialOutcome::Late,
    };
    (name, outcome)
}

/// A folder that goes with this value.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
        let name = format!("mcpproxy-doctor-{}", uuid::Uuid::new_v4().simple());
        let folder = env::temp_dir().join(name);
        storage::create_private_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The system clears its temporary folder, too.
        let _ = fs::remove_dir_all(&self.0);
    }
}
