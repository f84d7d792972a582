//! Logins to the page: links that work once, and the sessions that they open. Both are random secrets of which only hashes are held.
//! Sessions are saved in the data folder, so that they outlive the daemon; links are not.

use std::{
    io,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use tokio::sync::watch;

use super::kept_logins::{self, PageLogin};
use crate::{
    config::TokenHash, runtime::sync::Guarded, sessions::sealing::random_secret, text::Secret,
};

/// How long a link works.
pub const LINK_LIFETIME: Duration = Duration::from_mins(2);

/// Limit: unused links. A new one replaces the oldest.
const MOST_LINKS: usize = 16;

/// Limit: sessions. A new one replaces the one that has not been used for longest.
const MOST_SESSIONS: usize = 64;

/// How long a session lasts without use.
const IDLE: Duration = Duration::from_hours(12);

/// How long a session lasts at most.
const LONGEST: Duration = Duration::from_hours(7 * 24);

/// How often a session with an open stream is marked as used, and how far its last use on disk may lag behind.
const MARK: Duration = Duration::from_mins(10);

/// The number of a session in this run of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionNumber(u64);

#[derive(Debug, Default)]
pub(super) struct PageLogins {
    state: Guarded<State>,
    /// Changes when sessions end.
    ended: watch::Sender<()>,
    /// Where sessions are saved. Invariant: locked from taking the sessions out of `state` until they are written, so that an older write
    /// never replaces a newer one. Where both are locked, this one is locked first.
    data_dir: Guarded<Option<PathBuf>>,
}

#[derive(Debug, Default)]
struct State {
    links: Vec<Link>,
    sessions: Vec<Session>,
    opened: u64,
    /// Whether the sessions differ from those on disk.
    is_new: bool,
}

#[derive(Debug)]
struct Link {
    hash: TokenHash,
    made: SystemTime,
}

#[derive(Debug)]
struct Session {
    hash: TokenHash,
    number: SessionNumber,
    begun: SystemTime,
    used: SystemTime,
    /// The last use that is on disk.
    kept: SystemTime,
}

impl PageLogins {
    /// With the sessions that are saved in this data folder. Blocks.
    pub(super) fn kept_in(data_dir: PathBuf, now: SystemTime) -> Self {
        let mut state = State::default();
        for one in kept_logins::read(&data_dir).into_iter().take(MOST_SESSIONS) {
            if let Some((begun, used)) = one.times(now) {
                state.open(one.hash, begun, used);
            }
        }
        state.forget_old(now);
        Self {
            state: Guarded::new(state),
            data_dir: Guarded::new(Some(data_dir)),
            ..Self::default()
        }
    }

    /// Saves the sessions if they differ from those on disk. Blocks.
    pub(super) fn keep(&self) -> io::Result<()> {
        let data_dir = self.data_dir.lock();
        let Some(data_dir) = data_dir.as_deref() else {
            return Ok(());
        };
        let Some(sessions) = self.state.lock().take_news() else {
            return Ok(());
        };
        let written = kept_logins::write(data_dir, sessions);
        if written.is_err() {
            self.state.lock().is_new = true;
        }
        written
    }

    pub(super) fn new_link(&self, now: SystemTime) -> io::Result<Secret> {
        let token = random_secret()?;
        let mut state = self.state.lock();
        state.forget_old(now);
        if state.links.len() >= MOST_LINKS {
            state.links.remove(0);
        }
        let hash = TokenHash::of(token.reveal());
        state.links.push(Link { hash, made: now });
        Ok(token)
    }

    /// Opens a session with the secret of a link, which then no longer works. Gives the secret of its cookie, valid only with `key`.
    pub(super) fn log_in(
        &self,
        token: &str,
        key: Option<TokenHash>,
        now: SystemTime,
    ) -> io::Result<Option<Secret>> {
        let session = random_secret()?;
        let shown = TokenHash::of(token);
        let mut state = self.state.lock();
        state.forget_old(now);
        let links = state.links.len();
        state.links.retain(|link| link.hash != shown);
        if state.links.len() == links {
            return Ok(None);
        }
        let gives_way = state.sessions.len() >= MOST_SESSIONS;
        if gives_way {
            let oldest = state.sessions.iter().min_by_key(|session| session.used);
            let oldest = oldest.map(|session| session.number);
            state.sessions.retain(|one| Some(one.number) != oldest);
        }
        state.open(hash_of(session.reveal(), key), now, now);
        state.is_new = true;
        drop(state);
        if gives_way {
            self.ended.send_replace(());
        }
        Ok(Some(session))
    }

    /// The session of this cookie, which then counts as used.
    pub(super) fn session(
        &self,
        cookie: &str,
        key: Option<TokenHash>,
        now: SystemTime,
    ) -> Option<SessionNumber> {
        let shown = hash_of(cookie, key);
        let mut state = self.state.lock();
        state.forget_old(now);
        let number = state.sessions.iter().find(|one| one.hash == shown)?.number;
        state.mark(number, now);
        Some(number)
    }

    pub(super) fn end(&self, number: SessionNumber) {
        let mut state = self.state.lock();
        state.sessions.retain(|one| one.number != number);
        state.is_new = true;
        drop(state);
        self.ended.send_replace(());
    }

    pub(super) fn end_all(&self) {
        let mut state = self.state.lock();
        state.links.clear();
        state.sessions.clear();
        state.is_new = true;
        drop(state);
        self.ended.send_replace(());
    }

    /// Returns when a session has ended; until then it counts as used.
    pub(super) async fn ended(&self, number: SessionNumber) {
        let mut ended = self.ended.subscribe();
        loop {
            ended.borrow_and_update();
            if !self.mark(number, SystemTime::now()) {
                return;
            }
            // It returns with a change or after `MARK`; the sender lives as long as `self`.
            let _ = tokio::time::timeout(MARK, ended.changed()).await;
        }
    }

    /// Marks a session as used; false if it has ended.
    fn mark(&self, number: SessionNumber, now: SystemTime) -> bool {
        let mut state = self.state.lock();
        state.forget_old(now);
        state.mark(number, now)
    }
}

/// The hash by which a session is found: of its cookie and the operators' key, so that with another key it is not found.
fn hash_of(cookie: &str, key: Option<TokenHash>) -> TokenHash {
    let key = key.map(TokenHash::to_hex).unwrap_or_default();
    TokenHash::of(&format!("{key} {cookie}"))
}

/// The time since then; zero if the clock was set back.
fn age(since: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(since).unwrap_or_default()
}

impl State {
    fn open(&mut self, hash: TokenHash, begun: SystemTime, used: SystemTime) {
        self.opened += 1;
        self.sessions.push(Session {
            hash,
            number: SessionNumber(self.opened),
            begun,
            used,
            kept: used,
        });
    }

    /// Marks a session as used; false if it has ended.
    fn mark(&mut self, number: SessionNumber, now: SystemTime) -> bool {
        let session = self.sessions.iter_mut().find(|one| one.number == number);
        let Some(session) = session else {
            return false;
        };
        session.used = now;
        self.is_new |= age(session.kept, now) >= MARK;
        true
    }

    /// The sessions to save, if they differ from those on disk.
    fn take_news(&mut self) -> Option<Vec<PageLogin>> {
        std::mem::take(&mut self.is_new).then(|| {
            let kept = self.sessions.iter_mut().map(|one| {
                one.kept = one.used;
                PageLogin::of(one.hash, one.begun, one.used)
            });
            kept.collect()
        })
    }

    fn forget_old(&mut self, now: SystemTime) {
        let age = |since: SystemTime| age(since, now);
        self.links.retain(|link| age(link.made) < LINK_LIFETIME);
        self.sessions
            .retain(|one| age(one.used) < IDLE && age(one.begun) < LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(logins: &PageLogins, now: SystemTime) -> Secret {
        let link = logins.new_link(now).expect("there are random bytes");
        let session = logins.log_in(link.reveal(), None, now);
        session
            .expect("there are random bytes")
            .expect("a new link")
    }

    #[test]
    fn a_link_works_once_and_soon() {
        let (logins, now) = (PageLogins::default(), SystemTime::now());
        let link = logins.new_link(now).expect("there are random bytes");
        let log_in = |link: &Secret, after: Duration| {
            let session = logins.log_in(link.reveal(), None, now + after);
            session.expect("there are random bytes").is_some()
        };
        assert!(log_in(&link, LINK_LIFETIME / 2));
        assert!(!log_in(&link, Duration::ZERO), "it was used");
        let late = logins.new_link(now).expect("there are random bytes");
        assert!(!log_in(&late, LINK_LIFETIME), "it is too old");
        assert!(!log_in(&Secret::default(), Duration::ZERO));
        let links: Vec<Secret> = (0..=MOST_LINKS)
            .map(|_| logins.new_link(now).expect("there are random bytes"))
            .collect();
        assert!(!log_in(&links[0], Duration::ZERO), "it gave way");
        assert!(log_in(&links[1], Duration::ZERO));
    }

    #[test]
    fn a_session_ends_when_nobody_uses_it_or_after_a_week() {
        let (logins, start) = (PageLogins::default(), SystemTime::now());
        let session = opened(&logins, start);
        let is_open = |at| logins.session(session.reveal(), None, at).is_some();
        let mut now = start;
        while now + IDLE / 2 < start + LONGEST {
            now += IDLE / 2;
            assert!(is_open(now), "{:?}", age(start, now));
        }
        assert!(!is_open(start + LONGEST));
        let session = opened(&logins, now);
        assert!(logins.session(session.reveal(), None, now + IDLE).is_none());
        assert!(logins.session("", None, now).is_none());
    }

    #[test]
    fn of_too_many_sessions_the_one_that_is_used_least_ends() {
        let (logins, now) = (PageLogins::default(), SystemTime::now());
        let all: Vec<Secret> = (0..MOST_SESSIONS).map(|_| opened(&logins, now)).collect();
        let later = now + Duration::from_secs(1);
        let used = |session: &Secret| logins.session(session.reveal(), None, later).is_some();
        assert!(all[0..1].iter().chain(&all[2..]).all(used));
        opened(&logins, later);
        assert!(used(&all[0]) && !used(&all[1]));
        assert!(!format!("{logins:?}").contains(all[0].reveal()));
    }

    #[test]
    fn sessions_outlive_the_daemon_and_no_end_is_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let again = |now| PageLogins::kept_in(folder.path().to_owned(), now);
        let now = SystemTime::now();
        let logins = again(now);
        let (session, ended) = (opened(&logins, now), opened(&logins, now));
        let link = logins.new_link(now).expect("there are random bytes");
        logins.keep().expect("it is written");
        let number = logins.session(ended.reveal(), None, now);
        logins.end(number.expect("it is open"));
        logins.keep().expect("it is written");
        let file = folder.path().join("page-logins.json");
        let text = std::fs::read_to_string(&file).expect("text");
        assert!(!text.contains(session.reveal()), "{text}");
        let is_open = |logins: &PageLogins, one: &Secret, key, now| {
            logins.session(one.reveal(), key, now).is_some()
        };
        let logins = again(now);
        assert!(is_open(&logins, &session, None, now));
        assert!(!is_open(&logins, &ended, None, now));
        let other = Some(TokenHash::of("another key"));
        assert!(!is_open(&logins, &session, other, now));
        let by_link = logins.log_in(link.reveal(), None, now).expect("random");
        assert!(by_link.is_none(), "a link does not outlive it");
        // A use counts on disk, too, a few minutes later.
        let later = now + IDLE - MARK;
        assert!(is_open(&logins, &session, None, later));
        logins.keep().expect("it is written");
        let later = later + IDLE - MARK;
        assert!(is_open(&again(later), &session, None, later));
        assert!(!is_open(
            &again(now + LONGEST),
            &session,
            None,
            now + LONGEST
        ));
        let early = now - Duration::from_hours(1);
        assert!(!is_open(&again(early), &session, None, early), "to come");
        std::fs::write(&file, text.replace("\"version\":1", "\"version\":2")).expect("ours");
        assert!(!is_open(&again(later), &session, None, later));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_listens_hears_of_the_end() {
        let (logins, now) = (PageLogins::default(), SystemTime::now());
        let session = opened(&logins, now);
        let number = logins
            .session(session.reveal(), None, now)
            .expect("it is open");
        let other = opened(&logins, now);
        let other = logins
            .session(other.reveal(), None, now)
            .expect("it is open");
        let mut listening = std::pin::pin!(logins.ended(number));
        let waited = async |listening: &mut std::pin::Pin<&mut _>| {
            tokio::time::timeout(MARK * 3, listening).await
        };
        assert!(waited(&mut listening).await.is_err());
        logins.end(other);
        assert!(waited(&mut listening).await.is_err());
        logins.end(number);
        assert!(waited(&mut listening).await.is_ok());
    }
}
