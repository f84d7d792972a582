//! The settings in force, and the task that is their only writer: it reads the file again when it changes, and keeps the last good settings
//! while the file cannot be used.

use std::{
    io,
    net::SocketAddr,
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
    Blank, ChangeOf, DemoProgram, History, IssuedTokens, KeyringLookup, LoadError, OurAddress,
    Overrides, ServerEntry, Settings, TextChange, Variables, WriteError,
    after_restart::StartSettings,
    blank::note_server_auth,
    demo::{DemoSwitch, namesake},
    ourselves::Whereabouts,
    rewrite,
    source::{SameText, Source},
    watching::Watching,
};
use crate::storage::{DiskFault, in_words};

/// A handle to the settings in force. Cheap to clone.
#[derive(Clone)]
pub struct Keeper {
    source: Arc<Source>,
    settings: watch::Receiver<Arc<Settings>>,
    file_status: watch::Receiver<FileStatus>,
    reloads: mpsc::Sender<oneshot::Sender<()>>,
    /// Writers of this process wait here, in the order of their requests. The lock of the file, which is not fair, is for other processes.
    writing: Arc<Mutex<()>>,
    history: History,
    hidden_keys: Arc<[(&'static str, &'static str)]>,
}

/// The only writer of the settings in force.
pub struct KeeperTask {
    source: Arc<Source>,
    /// The text in force; nothing if the file does not exist.
    text: Option<String>,
    /// The values that count until a restart.
    at_start: StartSettings,
    /// The data folder in use, if it is known.
    data_dir: Option<PathBuf>,
    settings: watch::Sender<Arc<Settings>>,
    file_status: watch::Sender<FileStatus>,
    reloads: mpsc::Receiver<oneshot::Sender<()>>,
    history: History,
    /// When secrets were looked up last.
    looked_up: Instant,
    /// Whether the file no longer has the `serverAuth` that stays in force until a restart.
    has_lost_auth: bool,
    /// Why the issued tokens cannot be read, as the log has it.
    token_fault: Option<String>,
}

/// How the file differs from the settings in force.
#[derive(Clone, Default)]
struct FileStatus {
    error: Option<Arc<LoadError>>,
    needs_restart: Vec<&'static str>,
    /// What an empty file would mean.
    blank: Blank,
}

/// Why the demo server was not started.
#[derive(Debug, thiserror::Error)]
pub enum DemoRefused {
    /// It is running already.
    #[error("nothing was started: the demo server is already running")]
    Running,
    /// Another server has its name.
    #[error("the demo server was not started: a server {0:?} already exists")]
    NameTaken(String),
    /// The file cannot be used.
    #[error("the demo server was not started: {0}")]
    FileUnusable(Arc<LoadError>),
    /// The file was not read in time.
    #[error("the demo server was not started: the daemon is too busy")]
    Busy,
}

/// How long the file must be quiet before it is read: editors write in several steps.
const QUIET: Duration = Duration::from_millis(200);
/// How long after the first change it is read at the latest, if it is never quiet.
const READ_WITHIN: Duration = Duration::from_millis(600);
/// How often the file is read where the system does not report all changes.
const LOOK_WITHOUT_WATCH: Duration = Duration::from_millis(500);
/// How often the file is read although the system reports changes: network file systems report none.
const LOOK_WITH_WATCH: Duration = Duration::from_secs(10);
/// Requests to read the file that wait in the channel; further callers wait for a place.
const WAITING_RELOADS: usize = 16;
/// How often missing secrets are looked up again.
const LOOK_FOR_SECRETS: Duration = Duration::from_secs(10);
/// How long a caller waits for a reading: it takes milliseconds, and looking up secrets three seconds at most, twice if another reading has
/// begun already.
const RELOAD_DEADLINE: Duration = Duration::from_secs(10);

impl Keeper {
    /// Reads the file and makes the keeper. If the file does not exist, the settings are the defaults, with a hint.
    pub fn open(
        file: &Path,
        overrides: Overrides,
        variables: Variables,
        keyring: KeyringLookup,
    ) -> Result<(Self, KeeperTask), LoadError> {
        let whereabouts = Whereabouts::new(overrides.places.clone());
        let source = Arc::new(Source {
            file: file.to_owned(),
            overrides,
            variables,
            keyring,
            demo: DemoSwitch::default(),
            whereabouts,
        });
        let (text, mut settings) = source.begin()?;
        let at_start = StartSettings::of(&settings, &source.overrides);
        let places = source.overrides.places.as_ref();
        let data_dir = places.map(|places| places.data_folder(&settings).to_owned());
        let mut token_fault = None;
        settings.issued = issued_in(data_dir.as_deref(), &mut token_fault);
        let history = History::new(data_dir.as_deref(), None);
        let (settings, settings_out) = watch::channel(Arc::new(settings));
        let (file_status, file_status_out) = watch::channel(FileStatus {
            blank: Blank::after(text.as_deref()),
            ..FileStatus::default()
        });
        let (reloads_in, reloads) = mpsc::channel(WAITING_RELOADS);
        let keeper = Self {
            source: Arc::clone(&source),
            settings: settings_out,
            file_status: file_status_out,
            reloads: reloads_in,
            writing: Arc::default(),
            history: history.clone(),
            hidden_keys: source.overrides.hidden_keys().into(),
        };
        let task = KeeperTask {
            source,
            text,
            at_start,
            data_dir,
            settings,
            file_status,
            reloads,
            history,
            looked_up: Instant::now(),
            has_lost_auth: false,
            token_fault,
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

    /// The settings in force, now and after each change.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Settings>> {
        self.settings.clone()
    }

    /// The address of this daemon, to which no server may lead.
    pub fn our_address(&self) -> OurAddress {
        self.source.whereabouts.address(&self.settings().listen)
    }

    /// Notes the sockets on which the daemon listens.
    pub fn note_sockets(&self, sockets: Vec<SocketAddr>) {
        self.source.whereabouts.note_sockets(sockets);
    }

    /// The configuration file.
    pub fn file(&self) -> &Path {
        &self.source.file
    }

    /// Why the present file is not in force, if it is not.
    pub fn last_error(&self) -> Option<Arc<LoadError>> {
        self.file_status.borrow().error.clone()
    }

    /// Keys whose new values count only after a restart.
    pub fn needs_restart(&self) -> Vec<&'static str> {
        self.file_status.borrow().needs_restart.clone()
    }

    /// The keys of the file that are overridden, each with the restart after which its value counts.
    pub fn hidden_keys(&self) -> &[(&'static str, &'static str)] {
        &self.hidden_keys
    }

    /// Reads the file at once, and the secrets that it refers to. When it returns, the present file is in force, or the error says why not.
    pub async fn reload_now(&self) -> Result<(), Arc<LoadError>> {
        let (done, answer) = oneshot::channel();
        let reload = async {
            if self.reloads.send(done).await.is_ok() {
                // An error means that the task ended; its last status counts.
                let _ = answer.await;
            }
        };
        let _ = tokio::time::timeout(RELOAD_DEADLINE, reload).await;
        self.last_error().map_or(Ok(()), Err)
    }

    /// Adds the bundled demo server, which runs this program, to the settings in force. The file is not changed. An error changes nothing.
    pub async fn start_demo(&self, program: DemoProgram) -> Result<(), DemoRefused> {
        if self.settings().demo.is_some() || !self.source.demo.start(program) {
            return Err(DemoRefused::Running);
        }
        let read = self.reload_now().await;
        let settings = self.settings();
        if settings.demo.is_some() {
            return Ok(());
        }
        self.source.demo.end();
        Err(match (namesake(&settings), read) {
            (Some(name), _) => DemoRefused::NameTaken(name.to_owned()),
            (None, Err(error)) => DemoRefused::FileUnusable(error),
            (None, Ok(())) => DemoRefused::Busy,
        })
    }

    /// Removes the demo server that [`Keeper::start_demo`] added, and says whether there was one.
    pub async fn end_demo(&self) -> bool {
        let was_on = self.source.demo.end();
        let _ = self.reload_now().await;
        was_on
    }

    /// Changes the text of the file under its lock, and puts it in force. If another program saves the file meanwhile, the change is made
    /// again to its text. Says whether the text changed.
    pub async fn rewrite(
        &self,
        by: ChangeOf,
        change: impl TextChange + Send + 'static,
    ) -> Result<bool, WriteError> {
        let history = self.history.clone();
        let file = self.source.file.clone();
        let ended = |error| DiskFault::of("write", &self.source.file)(io::Error::other(error));
        let turn = self.writing.lock().await;
        let blank = self.file_status.borrow().blank;
        let writing = move || rewrite(&file, blank, &history, &by, &change);
        let written = tokio::task::spawn_blocking(writing).await;
        drop(turn);
        let is_new = written.map_err(ended)??;
        // If the file has another mistake, `last_error` has it.
        let _ = self.reload_now().await;
        Ok(is_new)
    }
}

impl KeeperTask {
    /// Keeps the settings up to date until shutdown.
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
                    // One reading answers all requests that arrived before it.
                    let mut waiting = vec![done];
                    while let Ok(done) = self.reloads.try_recv() {
                        waiting.push(done);
                    }
                    self.reload(SameText::ReadAnew).await;
                    for done in waiting {
                        // An error means that the caller no longer waits.
                        let _ = done.send(());
                    }
                }
                Some(()) = changed.recv() => {
                    let now = Instant::now();
                    let first = *first_notice.get_or_insert(now);
                    wake = (now + QUIET).min(first + READ_WITHIN);
                }
                () = tokio::time::sleep_until(wake) => {
                    // First the watch, then the reading, so that no change is missed between them.
                    if !watching.is_current(&self.source.file) {
                        watching = start(&self.source.file);
                    }
                    self.reload(SameText::Keep).await;
                    first_notice = None;
                    wake = Instant::now() + if watching.is_complete() { LOOK_WITH_WATCH } else { LOOK_WITHOUT_WATCH };
                }
            }
        }
    }

    /// Reads the file and publishes what changed. Missing secrets are looked up again from time to time, and a file with a mistake is read
    /// anew each time.
    async fn reload(&mut self, mut same_text: SameText) {
        let (source, known) = (Arc::clone(&self.source), self.text.clone());
        if self.settings.borrow().lacks_secrets && self.looked_up.elapsed() >= LOOK_FOR_SECRETS {
            same_text = SameText::ReadAnew;
        }
        if same_text == SameText::ReadAnew {
            self.looked_up = Instant::now();
        }
        if self.file_status.borrow().error.is_some() {
            same_text = SameText::ReadAnew;
        }
        let (history, data_dir) = (self.history.clone(), self.data_dir.clone());
        let mut token_fault = self.token_fault.take();
        let reading = move || {
            history.note_file(&source.file);
            let read = source.read_again(known.as_deref(), same_text);
            let issued = issued_in(data_dir.as_deref(), &mut token_fault);
            (read, issued, token_fault)
        };
        let read = tokio::task::spawn_blocking(reading).await;
        let read = read.map(|(read, issued, token_fault)| {
            self.publish_tokens(issued);
            self.token_fault = token_fault;
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

    /// Ends the demo server if an entry has its name now, for good: it does not start again when that entry is removed.
    fn end_displaced_demo(&self, settings: &Settings) {
        if namesake(settings).is_some() && self.source.demo.end() {
            tracing::info!("the demo server ended: an entry with its name is configured");
        }
    }

    /// Notes in the data folder, for the next start, whether the settings in force have `serverAuth`.
    async fn note_server_auth(&self) {
        let Some(data_dir) = self.data_dir.clone() else {
            return;
        };
        let settings = self.settings.borrow().clone();
        let noting = move || note_server_auth(&data_dir, &settings);
        if let Ok(Err(error)) = tokio::task::spawn_blocking(noting).await {
            tracing::warn!(%error, "`serverAuth` not noted for next start");
        }
    }

    /// Puts the issued tokens in force, also if the configuration file cannot be used.
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
        // A new `listen` counts after a restart.
        new.is_exposed = self.at_start.is_exposed();
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
            // An unchanged entry stays the same allocation, by which its holders recognize it.
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

    /// Publishes whether the file is in force, and logs if that changed.
    fn publish_status(&self, error: Option<LoadError>) {
        let now = StartSettings::of(&self.settings.borrow(), &self.source.overrides);
        let mut needs_restart = self.at_start.differences(&now);
        needs_restart.extend(self.has_lost_auth.then_some("serverAuth"));
        let blank = Blank::after(self.text.as_deref());
        self.file_status.send_if_modified(|file_status| {
            if file_status.needs_restart != needs_restart && !needs_restart.is_empty() {
                tracing::warn!(keys = ?needs_restart, "changed settings need a restart");
            }
            let text = error.as_ref().map(LoadError::to_string);
            let is_new = text != file_status.error.as_ref().map(ToString::to_string);
            if is_new && let Some(error) = &error {
                let next = error.next_step().at_terminal("");
                tracing::error!(%error, %next, "configuration not loaded, last good one kept");
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

/// Reads the issued tokens of a data folder. If their file cannot be used, there are none: nobody knows which were revoked. The log has why,
/// unless that was known.
fn issued_in(data_dir: Option<&Path>, known: &mut Option<String>) -> IssuedTokens {
    let Some(data_dir) = data_dir else {
        return IssuedTokens::default();
    };
    let read = IssuedTokens::read(data_dir);
    let why = read.as_ref().err().map(in_words);
    if let Err(error) = &read
        && why != *known
    {
        let (error, next) = (in_words(error), IssuedTokens::step(data_dir, error));
        tracing::error!(%error, %next, "token file unusable, issued tokens refused");
    }
    *known = why;
    read.unwrap_or_default()
}

/// Keeps the former secrets of an entry masked, because a running connection still uses the values that they had when it began.
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

/// Logs the warnings and broken entries that the old settings did not have.
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
