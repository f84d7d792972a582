//! How the service manager says that our service is.

use serde::Serialize;

use super::{places::ServiceKind, steps::Step};

/// How a service is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct ServiceState {
    /// Whether it runs; nothing where the manager does not answer.
    pub(super) running: Option<bool>,
    pub(super) pid: Option<u32>,
    /// In the manager's own words: `active (running)`, `failed (watchdog)`.
    pub(super) state: Option<String>,
    /// Whether it is started at login.
    pub(super) at_login: Option<bool>,
    /// How often it was started again since it was started.
    pub(super) restarts: Option<u32>,
    /// Why the manager does not answer.
    pub(super) unknown: Option<String>,
}

impl ServiceState {
    /// Asks the manager.
    pub(super) async fn ask(kind: ServiceKind) -> Self {
        let reached = Step::reach(kind).run().await;
        if !reached.is_done {
            return Self {
                unknown: Some(reached.reason),
                ..Self::default()
            };
        }
        let looked = Step::look(kind).run().await;
        match kind {
            ServiceKind::Systemd if looked.is_done => of_systemd(&looked.stdout),
            ServiceKind::Systemd => Self {
                unknown: Some(looked.reason),
                ..Self::default()
            },
            ServiceKind::Launchd => of_launchd(looked.is_done.then_some(&looked.stdout)),
        }
    }
}

/// The answer of `systemctl show`.
fn of_systemd(answer: &str) -> ServiceState {
    let value = |name: &str| {
        let mut pairs = answer.lines().filter_map(|line| line.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let active = value("ActiveState").unwrap_or_default();
    let detail = match value("Result") {
        Some(result) if active == "failed" => result,
        _ => value("SubState").unwrap_or_default(),
    };
    ServiceState {
        running: Some(matches!(
            active,
            "active" | "activating" | "reloading" | "deactivating"
        )),
        pid: value("MainPID")
            .and_then(|pid| pid.parse().ok())
            .filter(|pid| *pid != 0),
        state: Some(format!("{active} ({detail})")),
        at_login: value("UnitFileState").map(|state| state == "enabled"),
        restarts: value("NRestarts").and_then(|count| count.parse().ok()),
        unknown: None,
    }
}

/// The answer of `launchctl print`, if it knows the service.
fn of_launchd(answer: Option<&String>) -> ServiceState {
    let Some(answer) = answer else {
        return ServiceState {
            running: Some(false),
            state: Some("not loaded".to_owned()),
            ..ServiceState::default()
        };
    };
    let value = |name: &str| {
        let mut pairs = answer
            .lines()
            .filter_map(|line| line.trim().split_once(" = "));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let pid = value("pid").and_then(|pid| pid.parse().ok());
    let state = value("state").unwrap_or("loaded");
    let detail = match value("last exit code") {
        Some(code) if pid.is_none() => format!("{state} (last exit code {code})"),
        _ => state.to_owned(),
    };
    ServiceState {
        running: Some(pid.is_some()),
        pid,
        state: Some(detail),
        at_login: Some(true),
        restarts: None,
        unknown: None,
    }
}

#[cfg(test)]
mod tests {
    use super::{ServiceState, of_launchd, of_systemd};

    #[test]
    fn the_answers_of_systemd_are_understood() {
        let running = "ActiveState=active\nSubState=running\nResult=success\nMainPID=42\nNRestarts=1\nUnitFileState=enabled\n";
        let expected = ServiceState {
            running: Some(true),
            pid: Some(42),
            state: Some("active (running)".to_owned()),
            at_login: Some(true),
            restarts: Some(1),
            unknown: None,
        };
        assert_eq!(of_systemd(running), expected);
        let failed =
            of_systemd("ActiveState=failed\nSubState=failed\nResult=watchdog\nMainPID=0\n");
        assert_eq!(failed.state.as_deref(), Some("failed (watchdog)"));
        assert_eq!((failed.running, failed.pid), (Some(false), None));
    }

    #[test]
    fn the_answers_of_launchd_are_understood() {
        let running = "gui/501/local.mcpproxy = {\n\tstate = running\n\n\tpid = 42\n}".to_owned();
        let state = of_launchd(Some(&running));
        assert_eq!((state.running, state.pid), (Some(true), Some(42)));
        let ended = "x = {\n\tstate = not running\n\tlast exit code = 1\n}".to_owned();
        let state = of_launchd(Some(&ended)).state;
        assert_eq!(state.as_deref(), Some("not running (last exit code 1)"));
        assert_eq!(of_launchd(None).state.as_deref(), Some("not loaded"));
    }
}
