//! The settings in force and their one writer: a task that reads the file again when it changes and keeps the last good ones
//! when it cannot.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{Mutex, mpsc, oneshot, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    Blank, ChangeOf, DEMO, DemoProgram, History, IssuedTokens, KeyringLookup, LoadError,
    OurAddress, Overrides, ServerEntry, Settings, TextChange, Variables, WriteError,
    after_restart::Fixed,
    blank::note_server_auth,
    demo::{DemoSwitch, namesake},
    ourselves::Whereabouts,
    rewrite,
    source::Source,
    watching::Watching,
};
use crate::storage::DiskFault;

/// A handle on the settings in force. Cheap to clone.
#[derive(Clone)]
pub struct Keeper {
    file: Arc<Path>,
    settings: watch::Receiver<Arc<Settings>>,
    file_status: watch::Receiver<FileStatus>,
    reloads: mpsc::Sender<oneshot::Sender<()>>,
    /// Our own writers wait here, in their order. Those of other processes are kept out by the file's lock, which is not fair.
    writing: Arc<Mutex<()>>,
    demo: DemoSwitch,
    whereabouts: Whereabouts,
    history: History,
    hidden_keys: Arc<[(&'static str, &'static str)]>,
}

/// The only writer of the settings in force.
pub struct KeeperTask {
    source: Source,
    /// The text in force; nothing where there is no file.
    text: Option<String>,
    first: Fixed,
    /// The data folder in use, where it is known.
    data_dir: Option<PathBuf>,
    settings: watch::Sender<Arc<Settings>>,
    file_status: watch::Sender<FileStatus>,
    reloads: mpsc::Receiver<oneshot::Sender<()>>,
    history: History,
    /// When secrets were looked up last.
    looked_up: Instant,
    /// Whether the file has lost the `serverAuth` that is in force until a restart.
    has_lost_auth: bool,
}

/// What becomes of secrets that are known, where the text is the same as before.
#[derive(Clone, Copy)]
enum KnownSecrets {
    Keep,
    LookUpAgain,
}

/// How the file stands to what is in force.
#[derive(Clone, Default)]
struct FileStatus {
    error: Option<Arc<LoadError>>,
    needs_restart: Vec<&'static str>,
    /// What it would be if it said nothing.
    blank: Blank,
}

/// Why the demo server is not started.
#[derive(Debug, thiserror::Error)]
pub enum DemoRefused {
    /// A server of this name is there.
    #[error("there is a server {0:?} already")]
    NameTaken(String),
    /// The file cannot be used.
    #[error(transparent)]
    FileUnusable(Arc<LoadError>),
    /// The file was not read in time.
    #[error("the daemon is too busy")]
    Busy,
}

/// How long the file must be quiet before it is read: editors write in several steps.
const QUIET: Duration = Duration::from_millis(200);
/// How long a file that never gets quiet may keep us waiting.
const READ_WITHIN: Duration = Duration::from_millis(600);
/// How often the file is looked at where changes are not noticed for certain.
const LOOK_WITHOUT_WATCH: Duration = Duration::from_millis(500);
/// How often it is looked at all the same: network file systems report nothing.
const LOOK_WITH_WATCH: Duration = Duration::from_secs(10);
/// Requests to read again that wait; more callers wait for room.
const WAITING_RELOADS: usize = 16;
/// How often secrets are looked for that were not there.
const LOOK_FOR_SECRETS: Duration = Duration::from_secs(10);
/// Reading takes milliseconds, and secrets are waited for three seconds at most, twice if a look has begun already; a keeper that is
/// silent for longer has ended.
const RELOAD_DEADLINE: Duration = Duration::from_secs(10);

impl Keeper {
    /// Reads the file and makes the keeper. No file is no fault: the settings are then the defaults, with a hint.
    pub fn open(
        file: &Path,
        overrides: Overrides,
        variables: Variables,
        keyring: KeyringLookup,
    ) -> Result<(Self, KeeperTask), LoadError> {
        let whereabouts = Whereabouts::new(overrides.places.clone());
        let source = Source {
            file: file.to_owned(),
            overrides,
            variables,
            keyring,
            demo: DemoSwitch::default(),
            whereabouts,
        };
        let (text, mut first) = source.begin()?;
        let fixed = Fixed::of(&first, &source.overrides);
        let places = source.overrides.places.as_ref();
        let data_dir = places.map(|places| places.data_folder(&first).to_owned());
        first.issued = issued_in(data_dir.as_deref());
        let history = History::new(data_dir.as_deref(), None);
        let (settings, settings_out) = watch::channel(Arc::new(first));
        let (file_status, file_status_out) = watch::channel(FileStatus {
            blank: Blank::after(text.as_deref()),
            ..FileStatus::default()
        });
        let (reloads_in, reloads) = mpsc::channel(WAITING_RELOADS);
        let keeper = Self {
            file: file.into(),
            settings: settings_out,
            file_status: file_status_out,
            reloads: reloads_in,
            writing: Arc::default(),
            demo: source.demo.clone(),
            whereabouts: source.whereabouts.clone(),
            history: history.clone(),
            hidden_keys: source.overrides.hidden_keys().into(),
        };
        let task = KeeperTask {
            source,
            text,
            first: fixed,
            data_dir,
            settings,
            file_status,
            reloads,
            history,
            looked_up: Instant::now(),
            has_lost_auth: false,
        };
        Ok((keeper, task))
    }

    /// The history of the file.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The settings in force now.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.borrow().clone()
    }

    /// The settings in force from now on.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Settings>> {
        self.settings.clone()
    }

    /// Where we are: no server may lead there.
    pub fn our_address(&self) -> OurAddress {
        self.whereabouts.address(&self.settings().listen)
    }

    /// Notes the ports on which the daemon listens.
    pub fn listens_at(&self, ports: Vec<u16>) {
        self.whereabouts.listens_at(ports);
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Why the file as it is now is not in force, if it is not.
    pub fn last_error(&self) -> Option<Arc<LoadError>> {
        self.file_status.borrow().error.clone()
    }

    /// Keys whose new values count only after a restart.
    pub fn needs_restart(&self) -> Vec<&'static str> {
        self.file_status.borrow().needs_restart.clone()
    }

    /// The keys of the file that count for nothing, each with the options of the command line that count instead.
    pub fn hidden_keys(&self) -> &[(&'static str, &'static str)] {
        &self.hidden_keys
    }

    /// Reads the file at once, and the secrets that it refers to. When it returns, what the file says is in force, or the error says why not.
    pub async fn reload_now(&self) -> Result<(), Arc<LoadError>> {
        let (done, answer) = oneshot::channel();
        let reload = async {
            if self.reloads.send(done).await.is_ok() {
                // An error means that the keeper ended; what it last said stands.
                let _ = answer.await;
            }
        };
        let _ = tokio::time::timeout(RELOAD_DEADLINE, reload).await;
        self.last_error().map_or(Ok(()), Err)
    }

    /// Has this program run as the bundled demo server beside what the file says. Nothing is written. Where that is refused it is as before,
    /// and stays so.
    pub async fn start_demo(&self, program: DemoProgram) -> Result<(), DemoRefused> {
        if self.settings().demo.is_some() || !self.demo.start(program) {
            return Err(DemoRefused::NameTaken(DEMO.to_owned()));
        }
        let read = self.reload_now().await;
        let settings = self.settings();
        if settings.demo.is_some() {
            return Ok(());
        }
        self.demo.end();
        Err(match (namesake(&settings), read) {
            (Some(name), _) => DemoRefused::NameTaken(name.to_owned()),
            (None, Err(error)) => DemoRefused::FileUnusable(error),
            (None, Ok(())) => DemoRefused::Busy,
        })
    }

    /// Ends the demo server that was started like this; whether one was.
    pub async fn end_demo(&self) -> bool {
        let was_on = self.demo.end();
        let _ = self.reload_now().await;
        was_on
    }

    /// Changes the file's text under its lock, so that the change sees what it replaces, and puts it in force. Says whether the text changed.
    /// Over a text that somebody saves meanwhile it is made again.
    pub async fn rewrite(
        &self,
        by: ChangeOf,
        change: impl TextChange + Send + 'static,
    ) -> Result<bool, WriteError> {
        let history = self.history.clone();
        let file = self.file.to_path_buf();
        let ended = |error| DiskFault::of("write", &self.file)(io::Error::other(error));
        let turn = self.writing.lock().await;
        let blank = self.file_status.borrow().blank;
        let writing = move || rewrite(&file, blank, &history, &by, &change);
        let written = tokio::task::spawn_blocking(writing).await;
        drop(turn);
        let is_new = written.map_err(ended)??;
        // A fault that stands in the file beside the change is shown by `last_error`.
        let _ = self.reload_now().await;
        Ok(is_new)
    }
}

impl KeeperTask {
    /// Keeps the settings until shutdown.
    pub async fn run(mut self, shutdown: CancellationToken) {
        report(&Settings::default(), &self.settings.borrow());
        self.note_server_auth().await;
        let (noticed, mut changed) = mpsc::channel(1);
        let start = |file: &Path| Watching::start(file, noticed.clone());
        let mut watching = start(&self.source.file);
        let mut first_notice = None;
        // At once: the file may have changed between its first reading and the watch.
        let mut wake = Instant::now();
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                Some(done) = self.reloads.recv() => {
                    // One reading is enough for all requests before it began.
                    let mut waiting = vec![done];
                    while let Ok(done) = self.reloads.try_recv() {
                        waiting.push(done);
                    }
                    self.reload(KnownSecrets::LookUpAgain).await;
                    for done in waiting {
                        // Nobody waits any more: fine.
                        let _ = done.send(());
                    }
                }
                Some(()) = changed.recv() => {
                    let now = Instant::now();
                    let first = *first_notice.get_or_insert(now);
                    wake = (now + QUIET).min(first + READ_WITHIN);
                }
                () = tokio::time::sleep_until(wake) => {
                    // Watch first, read second: nothing falls between.
                    if !watching.is_current(&self.source.file) {
                        watching = start(&self.source.file);
                    }
                    self.reload(KnownSecrets::Keep).await;
                    first_notice = None;
                    wake = Instant::now() + if watching.is_complete() { LOOK_WITH_WATCH } else { LOOK_WITHOUT_WATCH };
                }
            }
        }
    }

    /// Reads the file and publishes what is new about it.
    async fn reload(&mut self, secrets: KnownSecrets) {
        let (source, known) = (self.source.clone(), self.text.clone());
        let is_outdated = match secrets {
            KnownSecrets::LookUpAgain => true,
            // What is missing is looked for until it is there.
            KnownSecrets::Keep => {
                self.settings.borrow().lacks_secrets && self.looked_up.elapsed() >= LOOK_FOR_SECRETS
            }
        };
        if is_outdated {
            self.looked_up = Instant::now();
        }
        let is_faulty = self.file_status.borrow().error.is_some() || is_outdated;
        let (history, data_dir) = (self.history.clone(), self.data_dir.clone());
        let reading = move || {
            history.note_file(&source.file);
            let read = source.read_again(known.as_deref(), is_faulty);
            (read, issued_in(data_dir.as_deref()))
        };
        let read = tokio::task::spawn_blocking(reading).await;
        let read = read.map(|(read, issued)| {
            self.publish_tokens(issued);
            read
        });
        match read {
            Ok(Ok(None)) => self.publish_status(None),
            Ok(Ok(Some((text, settings)))) => {
                self.text = text;
                self.end_displaced_demo(&settings);
                self.publish(settings);
                self.note_server_auth().await;
                self.publish_status(None);
            }
            Ok(Err(error)) => self.publish_status(Some(error)),
            // The runtime is ending.
            Err(_) => {}
        }
    }

    /// Ends the demo server where an entry has its name now: it does not come back when that entry goes.
    fn end_displaced_demo(&self, settings: &Settings) {
        if namesake(settings).is_some() && self.source.demo.end() {
            tracing::info!("the demo server ended: an entry with its name is configured");
        }
    }

    /// Notes in the data folder whether the settings in force have `serverAuth`.
    async fn note_server_auth(&self) {
        let Some(data_dir) = self.data_dir.clone() else {
            return;
        };
        let settings = self.settings.borrow().clone();
        let noting = move || note_server_auth(&data_dir, &settings);
        if let Ok(Err(error)) = tokio::task::spawn_blocking(noting).await {
            tracing::warn!(%error, "next start may lack `serverAuth`");
        }
    }

    /// Puts the tokens in force that are there now, whatever becomes of the file.
    fn publish_tokens(&self, issued: IssuedTokens) {
        self.settings.send_if_modified(|settings| {
            let is_new = settings.issued != issued;
            if is_new {
                Arc::make_mut(settings).issued = issued;
            }
            is_new
        });
    }

    fn publish(&mut self, mut new: Settings) {
        let old = self.settings.borrow().clone();
        new.issued = old.issued.clone();
        // Until a restart we listen where we did.
        new.is_exposed = self.first.is_exposed();
        let auth = new.server_auth.as_deref();
        let lets_more_in = old.requires_credentials() && !new.requires_credentials();
        self.has_lost_auth = lets_more_in
            || old
                .server_auth
                .as_ref()
                .is_some_and(|old| old.is_lost_in(auth));
        if self.has_lost_auth {
            new.server_auth.clone_from(&old.server_auth);
        }
        for (name, entry) in &mut new.servers {
            if let Some(known) = old.servers.get(name) {
                remember_secrets(known, entry);
            }
            // Who holds an unchanged entry can tell by its address.
            if let Some(same) = old.servers.get(name).filter(|known| *known == entry) {
                *entry = Arc::clone(same);
            }
        }
        if *old == new {
            return;
        }
        tracing::info!(
            servers = new.servers.len(),
            broken = new.broken.len(),
            "configuration read again"
        );
        report(&old, &new);
        self.settings.send_replace(Arc::new(new));
    }

    /// Publishes whether the file is in force, and logs what is new about that.
    fn publish_status(&self, error: Option<LoadError>) {
        let now = Fixed::of(&self.settings.borrow(), &self.source.overrides);
        let mut needs_restart = self.first.differences(&now);
        needs_restart.extend(self.has_lost_auth.then_some("serverAuth"));
        let blank = Blank::after(self.text.as_deref());
        self.file_status.send_if_modified(|file_status| {
            if file_status.needs_restart != needs_restart && !needs_restart.is_empty() {
                tracing::warn!(keys = ?needs_restart, "changed settings need a restart");
            }
            let text = error.as_ref().map(LoadError::to_string);
            let is_new = text != file_status.error.as_ref().map(ToString::to_string);
            if is_new && let Some(text) = text {
                tracing::error!(error = %text, "configuration not loaded, last good one kept");
            }
            if is_new {
                file_status.error = error.map(Arc::new);
            }
            let changed = is_new || file_status.needs_restart != needs_restart;
            file_status.needs_restart = needs_restart;
            file_status.blank = blank;
            changed
        });
    }
}

/// The tokens of a data folder. Those of a file that cannot be read count no more: nobody can tell which were revoked.
fn issued_in(data_dir: Option<&Path>) -> IssuedTokens {
    let read = data_dir.map(IssuedTokens::read);
    match read {
        None => IssuedTokens::default(),
        Some(Ok(issued)) => issued,
        Some(Err(error)) => {
            tracing::error!(%error, "issued tokens refused: their file is unreadable");
            IssuedTokens::default()
        }
    }
}

/// A connection that goes on has the values that its secrets had when it began: they stay redacted.
fn remember_secrets(known: &ServerEntry, entry: &mut Arc<ServerEntry>) {
    if !entry.uses_secrets || entry.fingerprint != known.fingerprint {
        return;
    }
    let former = if entry.secrets == known.secrets {
        &known.former_secrets
    } else {
        &known.secrets
    };
    if !former.is_empty() {
        Arc::make_mut(entry).former_secrets = former.clone();
    }
}

/// Logs what is wrong with the new settings and was not with the old ones.
fn report(old: &Settings, new: &Settings) {
    let known = old.all_warnings();
    let warnings = new.all_warnings();
    for warning in warnings.iter().filter(|warning| !known.contains(warning)) {
        tracing::warn!(%warning, "configuration warning");
    }
    for entry in new
        .broken
        .iter()
        .filter(|entry| !old.broken.contains(entry))
    {
        tracing::warn!(server = %entry.name, reason = %entry.reason, "server entry cannot be used");
    }
}
