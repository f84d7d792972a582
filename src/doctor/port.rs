//! Whether clients reach the daemon at its address: the port is free, ours, or somebody else's.

use std::{
    collections::HashSet,
    fs, io,
    net::{SocketAddr, TcpListener},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::DoctorFinding;
use crate::{
    config::{Listen, Places},
    management::{DaemonLocation, StatusReport},
    storage,
};

const PORT: &str = "port";

/// What has not answered by then is not a daemon of this program.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Limit: what is read of the answer.
const LONGEST_ANSWER: u64 = 4 << 20;

/// How many ports after a taken one are tried.
const NEXT_PORTS: u16 = 20;

/// In `/proc/net/tcp`: waits for connections.
const LISTENS: &str = "0A";

/// The addresses, of a daemon that runs or of one that would be started; nothing where they are not known.
pub(super) async fn check(
    listen: Option<Listen>,
    status: Option<&StatusReport>,
    places: &Places,
) -> Option<DoctorFinding> {
    if let Some(place) = status.and_then(|status| status.location.addresses()) {
        return Some(DoctorFinding::ok(PORT, "the daemon listens").at(place));
    }
    if status.is_some_and(|status| status.location.local_only) {
        let what = format!("the daemon does not listen: {ONLY_WITH_HTTP}");
        return Some(DoctorFinding::ok(PORT, what));
    }
    let listen = listen?;
    Some(match status {
        Some(status) => {
            let (why, fix) = why_unheard(listen, &status.location, places).await;
            let what = format!("no client can connect over HTTP: {why}");
            // One that was started for clients that come through a bridge serves those.
            let is_for_bridges = status.location.ends_after_idle_seconds.is_some();
            if is_for_bridges {
                DoctorFinding::warn(PORT, what, fix)
            } else {
                DoctorFinding::fail(PORT, what, fix)
            }
        }
        None => free(listen, places).await,
    })
}

async fn free(listen: Listen, places: &Places) -> DoctorFinding {
    let Some(address) = listen.addresses().first().copied() else {
        return DoctorFinding::ok(PORT, "no address is configured");
    };
    // Given back at once; no connection was made, so nothing lingers.
    let Err(error) = TcpListener::bind(address) else {
        return DoctorFinding::ok(PORT, format!("{address} is free"));
    };
    if let Some(taken) = TakenPort::of(listen).await {
        let what = format!("{address} is taken{}", taken.by);
        return DoctorFinding::fail(PORT, what, taken.step(&taken.move_away(places)));
    }
    // Clients may know the port: only one that this user may not have is changed.
    let port = match error.kind() {
        io::ErrorKind::PermissionDenied => 8080,
        _ => address.port(),
    };
    DoctorFinding::fail(
        PORT,
        format!("{address} cannot be used: {}", storage::in_words(&error)),
        format!("`mcpproxy config set listen 127.0.0.1:{port}`"),
    )
}

/// Why a daemon that was started without an address has none.
const ONLY_WITH_HTTP: &str = "`serve --stdio` listens only with --http, --listen or --port";

/// Why the daemon of this location does not listen there, as far as it can be told, and what to do about it. Takes up to two seconds.
pub async fn why_unheard(
    listen: Listen,
    location: &DaemonLocation,
    places: &Places,
) -> (String, String) {
    if location.local_only {
        // A restart would end the connection of the client that started it.
        let step = "write `serve --stdio --http` in the file of the client that starts mcpproxy";
        return (ONLY_WITH_HTTP.to_owned(), step.to_owned());
    }
    if let Some(refused) = location.refused(listen) {
        let step = format!("{}, then `mcpproxy restart`", refused.step_in_file());
        let why = format!("{refused}, so mcpproxy does not listen there");
        return (why, step);
    }
    match TakenPort::of(listen).await {
        Some(taken) => {
            let step = taken.step(&taken.move_away(places));
            let step = if places.shares_file() {
                format!("`mcpproxy stop`, then {step}")
            } else {
                format!("{step}; then `mcpproxy restart`")
            };
            (format!("{listen} is taken{}", taken.by), step)
        }
        None => (
            format!("the daemon does not listen on {listen}, which is free now"),
            "`mcpproxy restart`".to_owned(),
        ),
    }
}

/// A port that another program has.
pub struct TakenPort {
    /// ` by …`, as far as it can be told.
    pub by: String,
    /// Whether that is an mcpproxy.
    pub is_mcpproxy: bool,
    /// The same address with a port that was tried and is free.
    pub free: Listen,
}

impl TakenPort {
    /// The holder of this address; nothing if it is free. Takes up to two seconds.
    pub async fn of(listen: Listen) -> Option<Self> {
        let address = listen.addresses().first().copied()?;
        let bound = TcpListener::bind(address);
        bound
            .err()
            .filter(|error| error.kind() == io::ErrorKind::AddrInUse)?;
        let owner = owner_of(address.port());
        let version = version_of(address).await;
        Some(Self {
            is_mcpproxy: version.is_some(),
            by: match (version, owner) {
                (Some(version), Some((_, pid))) => {
                    format!(" by another mcpproxy ({version}, process {pid})")
                }
                (Some(version), None) => format!(" by another mcpproxy ({version})"),
                (None, Some((program, pid))) => format!(" by {program}, process {pid}"),
                (None, None) => String::new(),
            },
            free: free_after(address)?,
        })
    }

    /// The command that takes the free port, and no other daemon's.
    pub fn move_away(&self, places: &Places) -> String {
        if places.shares_file() {
            format!("`mcpproxy serve --port {}`", self.free.port())
        } else {
            format!("`mcpproxy config set listen {}`", self.free)
        }
    }

    /// What to do about it; `take` takes the free port.
    pub fn step(&self, take: &str) -> String {
        let other = if self.is_mcpproxy {
            "use that one"
        } else {
            "stop that program"
        };
        format!("{other}, or take a free port: {take}")
    }
}

/// The first of the next ports that is free, or any.
fn free_after(taken: SocketAddr) -> Option<Listen> {
    let next = taken.port().saturating_add(1);
    let mut ports = (next..next.saturating_add(NEXT_PORTS)).chain([0]);
    let free = ports.find_map(|port| {
        let bound = TcpListener::bind((taken.ip(), port)).ok()?;
        bound.local_addr().ok()
    });
    free?.to_string().parse().ok()
}

/// What is answered at this address to a request of HTTP/1.0: head and body.
pub async fn answer_to(request: &str, address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    let mut answering = stream.take(LONGEST_ANSWER);
    answering.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// The version of the mcpproxy that answers there, if one does.
async fn version_of(address: SocketAddr) -> Option<String> {
    let asking = async {
        let request = format!("GET /health HTTP/1.0\r\nHost: {address}\r\n\r\n");
        let answer = answer_to(&request, address).await.ok()?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        let health: Value = serde_json::from_str(body).ok()?;
        health.get("backends_configured")?;
        Some(health.get("version")?.as_str()?.to_owned())
    };
    timeout(ANSWERS_WITHIN, asking).await.ok()?
}

/// The name of the program and its process, out of `/proc` where there is one. Processes of other users cannot be seen.
fn owner_of(port: u16) -> Option<(String, u32)> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let sockets: HashSet<String> = tables
        .iter()
        .flatten()
        .flat_map(|table| listening_sockets(table, port))
        .collect();
    if sockets.is_empty() {
        return None;
    }
    let mut processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    processes.find_map(|process| {
        let pid = process.file_name().to_str()?.parse::<u32>().ok()?;
        let files = fs::read_dir(process.path().join("fd")).ok()?;
        let mut targets = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
        if !targets.any(|target| sockets.contains(&*target.to_string_lossy())) {
            return None;
        }
        let program = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        Some((program.trim().to_owned(), pid))
    })
}

/// The sockets that listen on the port, as `/proc/PID/fd` names them.
fn listening_sockets(table: &str, port: u16) -> Vec<String> {
    let wanted = format!(":{port:04X}");
    let rows = table.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let listens = columns.get(1)?.ends_with(&wanted) && *columns.get(3)? == LISTENS;
        listens.then(|| format!("socket:[{}]", columns.get(9).unwrap_or(&"")))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
    };

    use super::{TakenPort, check, listening_sockets, version_of};
    use crate::{
        config::{ChosenBy, Listen, Places},
        doctor::DoctorSeverity,
    };

    fn places(chosen_by: ChosenBy, data_dir_given: bool) -> Places {
        Places {
            config_file: "/c".into(),
            data_dir: "/d".into(),
            data_dir_given,
            chosen_by,
        }
    }

    fn listen(port: u16) -> Listen {
        format!("127.0.0.1:{port}").parse().expect("an address")
    }

    #[tokio::test]
    async fn a_taken_port_fails_and_names_who_has_it() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = taken.local_addr().expect("an address").port();
        let found = check(Some(listen(port)), None, &places(ChosenBy::Platform, false))
            .await
            .expect("it is known");
        assert_eq!(found.severity, DoctorSeverity::Fail, "{found:?}");
        let us = format!("process {}", std::process::id());
        if std::path::Path::new("/proc/net/tcp").exists() {
            assert!(found.what.contains(&us), "{found:?}");
        }
        drop(taken);
        let found = check(Some(listen(port)), None, &places(ChosenBy::Platform, false))
            .await
            .expect("it is known");
        assert_eq!(found.severity, DoctorSeverity::Ok, "{found:?}");
        // An address for documentation, which no machine has.
        let elsewhere = "192.0.2.7:22104".parse().expect("an address");
        let found = super::free(elsewhere, &places(ChosenBy::Platform, false)).await;
        let fix = found.fix.expect("a step");
        assert_eq!(fix, "`mcpproxy config set listen 127.0.0.1:22104`");
    }

    #[tokio::test]
    async fn who_keeps_a_daemon_from_its_port_is_named() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = taken.local_addr().expect("an address").port();
        let usual = places(ChosenBy::Platform, false);
        let location = crate::management::DaemonLocation::default();
        let taken_port = TakenPort::of(listen(port)).await.expect("it is taken");
        let free = taken_port.free;
        assert!(free.port() != port && TakenPort::of(free).await.is_none());
        let (why, step) = super::why_unheard(listen(port), &location, &usual).await;
        assert!(why.contains("is taken by"), "{why}");
        // Which port is free can change from one look to the next.
        assert!(
            step.contains("`mcpproxy config set listen 127.0.0.1:"),
            "{step}"
        );
        // The file is another daemon's, too.
        let second = places(ChosenBy::Platform, true);
        let (_, step) = super::why_unheard(listen(port), &location, &second).await;
        let alone = "`mcpproxy serve --port ";
        assert!(
            step.contains(alone) && !step.contains("config set"),
            "{step}"
        );
        drop(taken);
        let (why, _) = super::why_unheard(listen(port), &location, &usual).await;
        assert!(why.ends_with("is free now"), "{why}");
        let open = "0.0.0.0:1".parse().expect("an address");
        let (why, step) = super::why_unheard(open, &location, &usual).await;
        assert!(why.starts_with("other machines can reach"), "{why}");
        assert!(step.contains("listen 127.0.0.1:1`"), "{step}");
    }

    #[tokio::test]
    async fn another_mcpproxy_is_recognised_and_anybody_else_is_not() {
        let serve = |answer: &'static str| {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
            let address = listener.local_addr().expect("an address");
            let server = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().expect("a client");
                let asked = stream.read(&mut [0; 512]).expect("a request");
                assert!(asked > 0, "a request");
                let _ = stream.write_all(answer.as_bytes());
            });
            (address, server)
        };
        let ours = "HTTP/1.0 200 OK\r\n\r\n{\"version\":\"9.9.9\",\"backends_configured\":1}";
        let (address, server) = serve(ours);
        assert_eq!(version_of(address).await.as_deref(), Some("9.9.9"));
        server.join().expect("it ends");
        let (address, server) = serve("HTTP/1.0 200 OK\r\n\r\n{\"version\":\"9.9.9\"}");
        assert_eq!(version_of(address).await, None);
        server.join().expect("it ends");
    }

    #[test]
    fn the_table_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1\n   1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1\n";
        assert_eq!(listening_sockets(table, 8080), ["socket:[4711]"]);
        assert!(listening_sockets(table, 80).is_empty());
    }
}
