//! `mcpproxy service`: what it writes, what it tells a service manager, and what it takes away again. The manager is a stand-in that
//! notes what it is told.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{Place, Ran, skipped};

/// Plays `systemctl --user`: runs our unit or does not.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$*" >> "$HOME/told"
case "$2" in
show-environment)
  if [ -e "$HOME/no-bus" ]; then echo "Failed to connect to bus: No medium found" >&2; exit 1; fi
  echo "PATH=/usr/bin" ;;
show)
  if [ -e "$HOME/running" ]; then
    echo "ActiveState=active"; echo "SubState=running"; echo "MainPID=4242"; echo "UnitFileState=enabled"
  else
    echo "ActiveState=inactive"; echo "SubState=dead"; echo "MainPID=0"
  fi ;;
start|restart)
  if [ -e "$HOME/broken" ]; then echo "Job for mcpproxy.service failed" >&2; exit 1; fi
  : > "$HOME/running" ;;
disable) /bin/rm -f "$HOME/running" ;;
esac
"#;

/// Plays `launchctl`.
const LAUNCHCTL: &str = r#"#!/bin/sh
echo "$*" >> "$HOME/told"
case "$1 $2" in
"print gui/"*/*)
  [ -e "$HOME/running" ] || exit 113
  echo "	state = running"; echo "	pid = 4242" ;;
bootstrap*) : > "$HOME/running" ;;
bootout*) /bin/rm -f "$HOME/running" ;;
esac
"#;

/// A machine with such a manager.
struct Machine {
    place: Place,
    programs: PathBuf,
}

impl Machine {
    fn new(config: &str, name: &str, script: &str) -> Self {
        let place = Place::configured(config);
        let programs = place.folder().join("programs");
        fs::create_dir(&programs).expect("ours");
        let file = programs.join(name);
        fs::write(&file, script).expect("ours");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("ours");
        Self { place, programs }
    }

    fn systemd() -> Self {
        Self::new(r#"{ "mcpServers": {} }"#, "systemctl", SYSTEMCTL)
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let ran = self
            .place
            .command()
            .env("PATH", &self.programs)
            .arg("service")
            .args(arguments)
            .output()
            .expect("the program runs");
        Ran {
            code: ran.status.code().expect("an exit code"),
            stdout: String::from_utf8(ran.stdout).expect("text"),
            stderr: String::from_utf8(ran.stderr).expect("text"),
        }
    }

    fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[arguments, &["-o", "json"]].concat())
            .ended(0)
            .json()
    }

    fn put(&self, name: &str) {
        fs::write(self.place.folder().join(name), "").expect("ours");
    }

    /// What the manager was told since the last time, questions left out.
    fn told(&self) -> Vec<String> {
        let file = self.place.folder().join("told");
        let told = fs::read_to_string(&file).unwrap_or_default();
        fs::write(&file, "").expect("ours");
        let orders = told
            .lines()
            .filter(|line| !line.contains("show") && !line.starts_with("print"));
        orders.map(|line| line.replace("--user ", "")).collect()
    }

    fn unit(&self) -> PathBuf {
        let folder = self.place.folder().join(".config/systemd/user");
        folder.join("mcpproxy.service")
    }

    fn agent(&self) -> PathBuf {
        let folder = self.place.folder().join("Library/LaunchAgents");
        folder.join("local.mcpproxy.plist")
    }
}

#[test]
fn install_writes_a_unit_and_starts_it_and_does_nothing_the_second_time() {
    let machine = Machine::systemd();
    let report = machine.json(&["install", "--port", "9090", "--log-level", "debug"]);
    assert_eq!(
        (&report["changed"], &report["started"]),
        (&true.into(), &true.into())
    );
    assert_eq!(
        machine.told(),
        [
            "daemon-reload",
            "enable mcpproxy.service",
            "start mcpproxy.service"
        ]
    );
    let unit = fs::read_to_string(machine.unit()).expect("it was written");
    let (program, folder) = (
        env!("CARGO_BIN_EXE_mcpproxy"),
        machine.place.folder().display(),
    );
    let start = format!(
        r#"ExecStart="{program}" "--config" "{folder}/mcp_config.json" "--data-dir" "{folder}/data" "serve" "--listen" "127.0.0.1:9090" "--log-level" "debug""#
    );
    assert!(unit.lines().any(|line| line == start), "{unit}");

    let again = machine.json(&["install", "--port", "9090", "--log-level", "debug"]);
    assert_eq!(
        (&again["changed"], &again["started"]),
        (&false.into(), &false.into())
    );
    assert_eq!(machine.told(), ["daemon-reload", "enable mcpproxy.service"]);
    // Other options: it is started anew.
    machine.run(&["install"]).ended(0).shows(&[
        "the file was replaced",
        "active (running), started now",
        "journalctl",
    ]);
    assert_eq!(
        machine.told().last().map(String::as_str),
        Some("restart mcpproxy.service")
    );
}

#[test]
fn status_says_what_is_installed_and_what_install_would_change() {
    let machine = Machine::systemd();
    let status = machine.json(&["status"]);
    assert_eq!(
        (&status["installed"], &status["running"]),
        (&false.into(), &false.into())
    );
    machine.run(&["install", "--demo"]).ended(0);
    let status = machine.json(&["status"]);
    assert_eq!(status["installed"], true);
    assert_eq!(status["pid"], 4242);
    assert_eq!(status["program"], env!("CARGO_BIN_EXE_mcpproxy"));
    assert_eq!(
        status["config_file"],
        machine.place.config_file().to_str().expect("text")
    );
    assert_eq!(status["differences"], serde_json::json!([]));
    let unit = fs::read_to_string(machine.unit()).expect("it was written");
    fs::write(
        machine.unit(),
        unit.replace("WatchdogSec=60", "WatchdogSec=7"),
    )
    .expect("ours");
    let status = machine.json(&["status"]);
    let expected = [
        "installed: WatchdogSec=7",
        "install would write: WatchdogSec=60",
    ];
    assert_eq!(status["differences"], serde_json::json!(expected));
    fs::write(
        machine.unit(),
        unit.replace(env!("CARGO_BIN_EXE_mcpproxy"), "/no/such/program"),
    )
    .expect("ours");
    machine.run(&["status"]).ended(0).shows(&[
        "/no/such/program is not there any more",
        "would write something else",
    ]);
}

#[test]
fn uninstall_takes_away_what_install_wrote_and_nothing_else() {
    let machine = Machine::systemd();
    machine.run(&["install"]).ended(0);
    let mine = machine.unit().with_file_name("mcpproxy.service.d");
    fs::create_dir(&mine).expect("ours");
    machine.told();
    machine
        .run(&["uninstall", "--dry-run"])
        .ended(0)
        .says(&["disable --now"]);
    assert!(machine.unit().exists());
    machine
        .run(&["uninstall"])
        .ended(0)
        .says(&["the service is gone"]);
    assert_eq!(
        machine.told(),
        ["disable --now mcpproxy.service", "daemon-reload"]
    );
    assert!(!machine.unit().exists() && mine.exists() && machine.place.config_file().exists());
    machine
        .run(&["uninstall"])
        .ended(0)
        .says(&["nothing is installed"]);
    assert!(machine.told().is_empty());
}

#[test]
fn without_a_bus_the_unit_is_written_and_the_rest_is_to_be_typed() {
    let machine = Machine::systemd();
    machine.put("no-bus");
    machine.run(&["install"]).ended(0).says(&[
        "No medium found",
        "systemctl --user daemon-reload && systemctl --user enable mcpproxy.service && systemctl --user start mcpproxy.service",
    ]);
    assert!(machine.unit().exists() && machine.told().is_empty());
    machine
        .run(&["status"])
        .ended(0)
        .shows(&["not known"])
        .says(&["No medium found"]);
    // As `systemctl enable` leaves it.
    let link = machine.unit().with_file_name("default.target.wants");
    fs::create_dir(&link).expect("ours");
    let link = link.join("mcpproxy.service");
    std::os::unix::fs::symlink(machine.unit(), &link).expect("ours");
    machine
        .run(&["uninstall"])
        .ended(0)
        .says(&["systemctl --user stop mcpproxy.service"]);
    assert!(!machine.unit().exists() && fs::symlink_metadata(link).is_err());
}

#[test]
fn what_somebody_else_wrote_is_left_alone() {
    let machine = Machine::systemd();
    fs::create_dir_all(machine.unit().parent().expect("a folder")).expect("ours");
    fs::write(machine.unit(), "[Service]\nExecStart=/bin/true\n").expect("ours");
    for command in ["install", "uninstall"] {
        machine
            .run(&[command])
            .ended(1)
            .says(&["was not written by"]);
    }
    assert!(
        fs::read_to_string(machine.unit())
            .expect("it is there")
            .contains("/bin/true")
    );
    assert!(machine.told().is_empty());
}

#[test]
fn what_serve_would_refuse_is_not_installed() {
    let machine = Machine::systemd();
    machine
        .run(&["install", "--listen", "0.0.0.0:9"])
        .ended(1)
        .says(&["--insecure"]);
    machine.run(&["install", "--listen", "nonsense"]).ended(2);
    machine
        .run(&["install", "--locked", "absent.json"])
        .ended(1)
        .says(&["absent.json"]);
    fs::write(machine.place.config_file(), "{").expect("ours");
    machine.run(&["install"]).ended(1).says(&["config check"]);
    assert!(!machine.unit().exists() && machine.told().is_empty());
}

#[test]
fn a_service_that_does_not_start_is_a_failure_that_names_the_log() {
    let machine = Machine::systemd();
    machine.put("broken");
    machine
        .run(&["install"])
        .ended(1)
        .says(&["Job for mcpproxy.service failed", "journalctl --user"]);
}

#[test]
fn a_dry_run_prints_everything_and_does_nothing() {
    let machine = Machine::systemd();
    let ran = machine
        .run(&["install", "--dry-run", "--no-start"])
        .ended(0);
    ran.says(&["enable mcpproxy.service"])
        .does_not_say(&["start mcpproxy"])
        .shows(&["[Service]", "Type=notify"]);
    let planned = machine.json(&["install", "--dry-run"]);
    assert!(
        planned["content"]
            .as_str()
            .expect("text")
            .contains("WatchdogSec=60")
    );
    assert_eq!(planned["file"], machine.unit().to_str().expect("text"));
    assert!(!machine.unit().exists() && machine.told().is_empty());
}

#[test]
fn secrets_stay_out_and_it_is_said_where_variables_belong() {
    let config = r#"{ "mcpServers": { "a": { "command": "x", "env": { "K": "${SOME_TOKEN}", "L": "sk-literal" } } },
        "serverAuth": { "provider": "bearer", "bearer": { "tokens": { "${ADA_TOKEN}": "ada" } } } }"#;
    let machine = Machine::new(config, "systemctl", SYSTEMCTL);
    let ran = machine
        .place
        .command()
        .env("PATH", &machine.programs)
        .env("SOME_TOKEN", "tok-4711")
        .args(["service", "install"])
        .output()
        .expect("it runs");
    let hints = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.success() && hints.contains("mcpproxy.env"),
        "{hints}"
    );
    let unit = fs::read_to_string(machine.unit()).expect("it was written");
    for secret in ["tok-4711", "sk-literal", "SOME_TOKEN"] {
        assert!(!unit.contains(secret), "{unit}");
    }
    let keyring =
        r#"{ "mcpServers": { "a": { "command": "x", "env": { "K": "${keyring:k}" } } } }"#;
    fs::write(machine.place.config_file(), keyring).expect("ours");
    machine
        .run(&["install"])
        .ended(0)
        .does_not_say(&["mcpproxy.env"]);
}

#[test]
fn a_machine_without_a_service_manager_is_told_what_to_run() {
    let machine = Machine::new(r#"{ "mcpServers": {} }"#, "other", SYSTEMCTL);
    for command in ["install", "status", "uninstall"] {
        machine
            .run(&[command])
            .ended(1)
            .says(&["neither systemd nor launchd", "mcpproxy serve"]);
    }
}

#[test]
fn launchd_gets_an_agent() {
    let machine = Machine::new(r#"{ "mcpServers": {} }"#, "launchctl", LAUNCHCTL);
    let launchd = ["--manager", "launchd"];
    let run = |command: &str| machine.run(&[&[command], &launchd[..]].concat()).ended(0);
    run("install").shows(&["running, started now", "mcpproxy logs --follow"]);
    let told = machine.told();
    assert!(
        told[0].starts_with("enable gui/") && told[1].starts_with("bootstrap gui/"),
        "{told:?}"
    );
    let status = machine.json(&["status", "--manager", "launchd"]);
    assert_eq!(
        (&status["pid"], &status["differences"]),
        (&4242.into(), &serde_json::json!([]))
    );
    assert!(machine.place.folder().join("data/logs").is_dir());
    well_formed(
        &machine.agent(),
        machine.place.config_file().to_str().expect("text"),
    );
    run("uninstall");
    assert!(machine.told()[0].starts_with("bootout gui/"));
    assert!(!machine.agent().exists());
    run("uninstall");
}

/// Whether a program that knows property lists reads this one, where there is such a program.
fn well_formed(agent: &Path, config_file: &str) {
    let read = Command::new("python3")
        .args(["-c", "import plistlib, sys; print(plistlib.load(open(sys.argv[1], 'rb'))['ProgramArguments'][2])"])
        .arg(agent)
        .output();
    match read {
        Ok(read) if read.status.success() => {
            assert_eq!(String::from_utf8_lossy(&read.stdout).trim(), config_file);
        }
        Ok(read) => panic!("{read:?}"),
        Err(error) => skipped(&format!("python3 cannot be run: {error}")),
    }
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit() {
    let machine = Machine::systemd();
    machine.run(&["install", "--demo"]).ended(0);
    // It looks for a runtime folder, and needs nothing in it.
    let verified = Command::new("systemd-analyze")
        .args(["--user", "verify"])
        .arg(machine.unit())
        .env("XDG_RUNTIME_DIR", machine.place.folder())
        .env("HOME", machine.place.folder())
        .output();
    match verified {
        Ok(verified) => {
            let said = String::from_utf8_lossy(&verified.stderr);
            assert!(verified.status.success() && said.is_empty(), "{said}");
        }
        Err(error) => skipped(&format!("systemd-analyze cannot be run: {error}")),
    }
}
