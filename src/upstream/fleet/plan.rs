//! What has to change so that those servers run which the settings want. Pure.

use std::collections::BTreeMap;

use crate::text::names::ServerName;

/// What has to be done to one server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WorkerChange {
    Start(ServerName),
    Stop(ServerName),
    Replace(ServerName),
}

/// From running to wanted workers; names with the fingerprints of their settings.
pub(super) fn plan<I: PartialEq>(
    wanted: &BTreeMap<ServerName, I>,
    running: &BTreeMap<ServerName, I>,
) -> Vec<WorkerChange> {
    let gone = running
        .keys()
        .filter(|name| !wanted.contains_key(*name))
        .cloned()
        .map(WorkerChange::Stop);
    let rest = wanted
        .iter()
        .filter_map(|(name, identity)| match running.get(name) {
            None => Some(WorkerChange::Start(name.clone())),
            Some(current) if current != identity => Some(WorkerChange::Replace(name.clone())),
            Some(_) => None,
        });
    gone.chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_touched() {
        let set = |pairs: &[(&str, &str)]| -> BTreeMap<ServerName, String> {
            pairs
                .iter()
                .map(|(name, digest)| {
                    (
                        ServerName::parse(name).expect("a name"),
                        (*digest).to_owned(),
                    )
                })
                .collect()
        };
        let name = |text| ServerName::parse(text).expect("a name");
        let running = set(&[("same", "1"), ("changed", "1"), ("gone", "1")]);
        let wanted = set(&[("same", "1"), ("changed", "2"), ("new", "1")]);
        assert_eq!(
            plan(&wanted, &running),
            [
                WorkerChange::Stop(name("gone")),
                WorkerChange::Replace(name("changed")),
                WorkerChange::Start(name("new"))
            ]
        );
        assert!(plan(&running, &running).is_empty());
    }
}
