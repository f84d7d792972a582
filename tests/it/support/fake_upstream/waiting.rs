//! Waiting for what reaches a fake upstream, and for its children.

use super::{How, Received, Upstream, is_frame, patience};

impl Upstream {
    /// Waits for the first frame of this method.
    pub async fn wait_for(&self, method: &str) -> Received {
        self.wait_for_count(method, 1).await.remove(0)
    }

    pub async fn wait_for_count(&self, method: &str, count: usize) -> Vec<Received> {
        self.record
            .wait_for(method, count, |entry| is_frame(entry, method))
            .await
    }

    /// Waits for a frame like this, an answer for one.
    pub async fn wait_for_frame(&self, wanted: impl Fn(&str) -> bool) -> String {
        let is_wanted = |entry: &Received| entry.how == How::Frame && wanted(&entry.body);
        let found = self.record.wait_for("such a frame", 1, is_wanted).await;
        found[0].body.clone()
    }

    /// Waits for something that is no frame: a GET, a DELETE, a call whose client left.
    pub async fn wait_for_event(&self, how: How) -> Received {
        let what = format!("{how:?}");
        self.record
            .wait_for(&what, 1, |entry| entry.how == how)
            .await
            .remove(0)
    }

    pub async fn wait_for_children(&self, count: usize) {
        let what = format!("{count} running children");
        patience::until(&what, || (self.alive().len() == count).then_some(())).await;
    }
}
