//! Clients that go on elsewhere, as whom they like.

use std::net::SocketAddr;

use super::{client::TestClient, http::Reachable};

impl TestClient {
    /// Its requests go there from now on.
    pub fn move_to(&mut self, to: &impl Reachable) {
        self.to = to.address();
    }

    /// It has this session from now on.
    pub fn pretend(&mut self, session: &str) {
        self.session = Some(session.to_owned());
    }
}

impl Reachable for TestClient {
    fn address(&self) -> SocketAddr {
        self.to
    }
}
