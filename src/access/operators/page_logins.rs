//! Logins to the page: links that work once, and the sessions that they open. Both are random texts of which only hashes are held, in memory
//! alone: a restart ends them all.

use std::{
    io,
    time::{Duration, Instant},
};

use tokio::sync::watch;

use crate::{
    config::TokenHash, runtime::sync::Guarded, sessions::sealing::random_secret,
    text::secret::Secret,
};

/// How long a link works.
pub const LINK_LIFETIME: Duration = Duration::from_mins(2);

/// Limit: links that wait for their browser, of which the oldest gives way; and sessions, of which the one that was not used for longest
/// gives way.
const MOST_LINKS: usize = 16;
const MOST_SESSIONS: usize = 64;

/// How long a session lasts that nobody uses.
const IDLE: Duration = Duration::from_hours(12);

/// How long a session lasts at most.
const LONGEST: Duration = Duration::from_hours(7 * 24);

/// How often a session that somebody listens with is marked as used.
const MARK: Duration = Duration::from_mins(10);

/// Names a session for as long as the daemon runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionNumber(u64);

#[derive(Debug, Default)]
pub(super) struct PageLogins {
    state: Guarded<State>,
    /// Changes when sessions end.
    ended: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    links: Vec<Link>,
    sessions: Vec<Session>,
    opened: u64,
}

#[derive(Debug)]
struct Link {
    hash: TokenHash,
    made: Instant,
}

#[derive(Debug)]
struct Session {
    hash: TokenHash,
    number: SessionNumber,
    begun: Instant,
    used: Instant,
}

impl PageLogins {
    pub(super) fn new_link(&self, now: Instant) -> io::Result<Secret> {
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

    /// Opens a session for the token of a link, which does not work again; what its cookie has in it.
    pub(super) fn log_in(&self, token: &str, now: Instant) -> io::Result<Option<Secret>> {
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
        state.opened += 1;
        let number = SessionNumber(state.opened);
        state.sessions.push(Session {
            hash: TokenHash::of(session.reveal()),
            number,
            begun: now,
            used: now,
        });
        drop(state);
        if gives_way {
            self.ended.send_replace(());
        }
        Ok(Some(session))
    }

    /// The session of this cookie, which is used.
    pub(super) fn session(&self, cookie: &str, now: Instant) -> Option<SessionNumber> {
        let shown = TokenHash::of(cookie);
        let mut state = self.state.lock();
        state.forget_old(now);
        let session = state.sessions.iter_mut().find(|one| one.hash == shown)?;
        session.used = now;
        Some(session.number)
    }

    pub(super) fn end(&self, number: SessionNumber) {
        let mut state = self.state.lock();
        state.sessions.retain(|one| one.number != number);
        drop(state);
        self.ended.send_replace(());
    }

    pub(super) fn end_all(&self) {
        let mut state = self.state.lock();
        state.links.clear();
        state.sessions.clear();
        drop(state);
        self.ended.send_replace(());
    }

    /// Returns when a session has ended. Until then it counts as used.
    pub(super) async fn ended(&self, number: SessionNumber) {
        let mut ended = self.ended.subscribe();
        loop {
            ended.borrow_and_update();
            if !self.mark(number, Instant::now()) {
                return;
            }
            // Whichever comes first; the sender lives as long as we do.
            let _ = tokio::time::timeout(MARK, ended.changed()).await;
        }
    }

    /// Whether a session is there, which is used then.
    fn mark(&self, number: SessionNumber, now: Instant) -> bool {
        let mut state = self.state.lock();
        state.forget_old(now);
        let session = state.sessions.iter_mut().find(|one| one.number == number);
        session.is_some_and(|session| {
            session.used = now;
            true
        })
    }
}

impl State {
    fn forget_old(&mut self, now: Instant) {
        let age = |since: Instant| now.saturating_duration_since(since);
        self.links.retain(|link| age(link.made) < LINK_LIFETIME);
        self.sessions
            .retain(|one| age(one.used) < IDLE && age(one.begun) < LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(logins: &PageLogins, now: Instant) -> Secret {
        let link = logins.new_link(now).expect("there are random bytes");
        let session = logins.log_in(link.reveal(), now);
        session
            .expect("there are random bytes")
            .expect("a new link")
    }

    #[test]
    fn a_link_works_once_and_soon() {
        let (logins, now) = (PageLogins::default(), Instant::now());
        let link = logins.new_link(now).expect("there are random bytes");
        let log_in = |link: &Secret, after: Duration| {
            let session = logins.log_in(link.reveal(), now + after);
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
        let (logins, start) = (PageLogins::default(), Instant::now());
        let session = opened(&logins, start);
        let is_open = |at| logins.session(session.reveal(), at).is_some();
        let mut now = start;
        while now + IDLE / 2 < start + LONGEST {
            now += IDLE / 2;
            assert!(is_open(now), "{:?}", now - start);
        }
        assert!(!is_open(start + LONGEST));
        let session = opened(&logins, now);
        assert!(logins.session(session.reveal(), now + IDLE).is_none());
        assert!(logins.session("", now).is_none());
    }

    #[test]
    fn of_too_many_sessions_the_one_that_is_used_least_ends() {
        let (logins, now) = (PageLogins::default(), Instant::now());
        let all: Vec<Secret> = (0..MOST_SESSIONS).map(|_| opened(&logins, now)).collect();
        let later = now + Duration::from_secs(1);
        let used = |session: &Secret| logins.session(session.reveal(), later).is_some();
        assert!(all[0..1].iter().chain(&all[2..]).all(used));
        opened(&logins, later);
        assert!(used(&all[0]) && !used(&all[1]));
        assert!(!format!("{logins:?}").contains(all[0].reveal()));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_listens_hears_of_the_end() {
        let (logins, now) = (PageLogins::default(), Instant::now());
        let session = opened(&logins, now);
        let number = logins.session(session.reveal(), now).expect("it is open");
        let other = opened(&logins, now);
        let other = logins.session(other.reveal(), now).expect("it is open");
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
