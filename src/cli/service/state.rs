//! The state of the service, as the service manager reports it.

use serde::Serialize;

use super::{places::ServiceKind, steps::Step};

/// The state of the service. A field is empty where the manager does not report it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct ServiceState {
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
        let answer = match Step::reach(kind).run().await {
            Ok(_) => Step::look(kind).run().await,
            Err(reason) => return Self::of_silent(reason),
        };
        match (kind, answer) {
            (ServiceKind::Systemd, Ok(answer)) => of_systemd(&answer),
            (ServiceKind::Systemd, Err(reason)) => Self::of_silent(reason),
            (ServiceKind::Launchd, answer) => of_launchd(answer.as_deref().ok()),
        }
    }

    /// The state under a manager that does not answer.
    fn of_silent(reason: String) -> Self {
        Self {
            unknown: Some(reason),
            ..Self::default()
        }
    }
}

/// The state in the answer of `systemctl show`.
fn of_systemd(answer: &str) -> ServiceState {
    let value = |name: &str| value_of(name, "=", answer);
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

/// The state in the answer of `launchctl print`, which fails for a service that is not loaded.
fn of_launchd(answer: Option<&str>) -> ServiceState {
    let Some(answer) = answer else {
        return ServiceState {
            running: Some(false),
            state: Some("not loaded".to_owned()),
            ..ServiceState::default()
        };
    };
    let value = |name: &str| value_of(name, " = ", answer);
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
        ..ServiceState::default()
    }
}

/// The value in the first line that is this name, the separator and a value.
fn value_of<'a>(name: &str, separator: &str, answer: &'a str) -> Option<&'a str> {
    let pairs = answer.lines().map(str::trim);
    let mut pairs = pairs.filter_map(|line| line.split_once(separator));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
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
        let running = "gui/501/local.mcpproxy = {\n\tstate = running\n\n\tpid = 42\n}";
        let state = of_launchd(Some(running));
        assert_eq!((state.running, state.pid), (Some(true), Some(42)));
        let ended = "x = {\n\tstate = not running\n\tlast exit code = 1\n}";
        let state = of_launchd(Some(ended)).state;
        assert_eq!(state.as_deref(), Some("not running (last exit code 1)"));
        assert_eq!(of_launchd(None).state.as_deref(), Some("not loaded"));
    }
}
