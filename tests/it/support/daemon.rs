//! The daemon under test: inside the test's own process, or as the real program.

use std::{
    fmt::Display,
    net::SocketAddr,
    path::{Path, PathBuf},
    pin::Pin,
    process::{ExitStatus, Stdio},
};

use mcpproxy::{
    config::{ChosenBy, Places},
    daemon::{self, LogFormat, RunningDaemon, ServeOptions, Tcp},
    process::LoginPath,
};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::{
    net::UnixStream,
    process::{Child, Command},
};

use super::{
    client::TestClient,
    fake_upstream::Upstream,
    http::{self, HttpAnswer, Reachable},
    patience::{until_async, within},
    processes,
};

/// The folder that a daemon lives in. It outlives the daemon.
pub struct Home {
    folder: TempDir,
}

impl Home {
    /// An empty one.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn config_file(&self) -> PathBuf {
        self.folder.path().join("mcp_config.json")
    }

    /// The same, and it is there: a daemon that is told a file which is not there does not start.
    pub fn existing_config_file(&self) -> PathBuf {
        let file = self.config_file();
        if !file.exists() {
            self.write_config("{}");
        }
        file
    }

    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Replaces the configuration, as an editor does that writes in place.
    pub fn write_config(&self, text: impl Display) {
        std::fs::write(self.config_file(), text.to_string()).expect("the folder is ours");
    }

    /// A request on the local socket; nothing while nobody listens there, or whoever did has just been killed.
    pub async fn rest(&self, method: &str, path: &str, body: impl Display) -> Option<HttpAnswer> {
        let socket = self.data_dir().join("mcpproxy.sock");
        let stream = UnixStream::connect(socket).await.ok()?;
        let headers = [("host", "mcpproxy"), ("content-type", "application/json")];
        let answer = http::try_open_on(stream, method, path, &headers, body.to_string()).await;
        Some(answer.ok()?.whole().await)
    }

    /// What the programs of this home write to stderr.
    pub fn log(&self) -> std::fs::File {
        std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.log_file())
            .expect("the folder is ours")
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("stderr.log")
    }
}

/// What the daemon is configured with.
pub struct Builder {
    servers: Map<String, Value>,
    settings: Map<String, Value>,
}

impl Builder {
    /// Adds an upstream under this name.
    pub fn upstream(self, name: &str, upstream: &Upstream) -> Self {
        self.entry(name, upstream.entry())
    }

    /// Adds an upstream whose entry says more.
    pub fn upstream_with(self, name: &str, upstream: &Upstream, more: Value) -> Self {
        let mut entry = upstream.entry();
        merge(&mut entry, more);
        self.entry(name, entry)
    }

    /// Adds an entry of `mcpServers`.
    pub fn entry(mut self, name: &str, entry: Value) -> Self {
        self.servers.insert(name.to_owned(), entry);
        self
    }

    /// Sets top-level keys of the configuration.
    pub fn config(mut self, settings: Value) -> Self {
        let Value::Object(settings) = settings else {
            panic!("settings are an object");
        };
        self.settings.extend(settings);
        self
    }

    /// The text of the configuration file.
    pub fn text(&self) -> String {
        let mut config = self.settings.clone();
        config.insert("mcpServers".to_owned(), self.servers.clone().into());
        serde_json::to_string_pretty(&config).expect("JSON")
    }

    /// A home with this configuration in which nothing runs yet.
    pub fn home(&self) -> Home {
        let home = Home::new();
        home.write_config(self.text());
        home
    }

    /// Starts the daemon in this process and waits until it serves.
    pub async fn start(self) -> TestDaemon {
        TestDaemon::start_in(self.home()).await
    }

    /// Starts the real program and waits until it serves.
    pub async fn spawn(self) -> DaemonProcess {
        DaemonProcess::spawn_in(self.home()).await
    }

    /// [`Builder::spawn`], with more on the command line.
    pub async fn spawn_with_args(self, args: &[&str]) -> DaemonProcess {
        let home = self.home();
        let mut command = serve(&home);
        command.args(args);
        DaemonProcess::wait_until_it_serves(command, home).await
    }

    /// [`Builder::spawn`], by a shell that sets a limit with these options of `ulimit` first.
    pub async fn spawn_under_ulimit(self, options: &str) -> DaemonProcess {
        DaemonProcess::spawn_in_under_ulimit(self.home(), options).await
    }

    /// [`Builder::spawn`], with one more variable in the daemon's environment.
    pub async fn spawn_with_env(self, name: &str, value: &str) -> DaemonProcess {
        let home = self.home();
        let mut command = serve(&home);
        command.env(name, value);
        DaemonProcess::wait_until_it_serves(command, home).await
    }
}

impl IntoFuture for Builder {
    type Output = TestDaemon;
    type IntoFuture = Pin<Box<dyn Future<Output = TestDaemon> + Send>>;

    /// [`Builder::start`].
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.start())
    }
}

fn merge(entry: &mut Value, more: Value) {
    let Value::Object(more) = more else {
        panic!("an entry is an object");
    };
    entry.as_object_mut().expect("an entry").extend(more);
}

/// The daemon inside the test's own process. Dropping it ends its tasks and kills its children.
pub struct TestDaemon {
    home: Home,
    address: SocketAddr,
    running: RunningDaemon,
}

impl TestDaemon {
    pub fn builder() -> Builder {
        Builder {
            servers: Map::new(),
            settings: Map::new(),
        }
    }

    /// One with this server alone, under the name "up".
    pub async fn with_upstream(upstream: &Upstream) -> Self {
        Self::builder().upstream("up", upstream).start().await
    }

    /// One with these two servers, under the names "a" and "b".
    pub async fn with_two(a: &Upstream, b: &Upstream) -> Self {
        Self::builder().upstream("a", a).upstream("b", b).await
    }

    /// One before this server, which it calls "up", and a client of all tools, once this one is listed.
    pub async fn before(upstream: &Upstream, tool: &str) -> (Self, TestClient) {
        let daemon = Self::with_upstream(upstream).await;
        let client = daemon.client_of(&format!("up__{tool}")).await;
        (daemon, client)
    }

    /// A request over TCP.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> HttpAnswer {
        http::send(self.address(), method, path, headers, body.to_owned()).await
    }

    /// What the list of servers says of this one; nothing if it has none of this name.
    pub async fn row(&self, name: &str) -> Value {
        let mut rows = self.rest("GET", "/api/v1/servers", "").await.json();
        let rows = rows["servers"].as_array_mut().expect("rows");
        let row = rows.iter_mut().find(|row| row["name"] == name);
        row.map(Value::take).unwrap_or_default()
    }

    /// A client of all servers that sees this tool.
    pub async fn client_of(&self, tool: &str) -> TestClient {
        let client = self.client("/mcp/all").await;
        client.wait_for_tool(tool).await;
        client
    }

    /// Returns when a client of all servers sees this tool.
    pub async fn wait_for_tool(&self, tool: &str) {
        self.client_of(tool).await;
    }

    /// Starts in a home where a daemon may have lived before.
    pub async fn start_in(home: Home) -> Self {
        let options = ServeOptions {
            arguments: Vec::new(),
            places: Places {
                config_file: home.config_file(),
                data_dir: home.data_dir(),
                data_dir_given: true,
                chosen_by: ChosenBy::Platform,
            },
            listen: Some("127.0.0.1:0".to_owned()),
            mode: None,
            insecure: false,
            log_level: None,
            log_format: LogFormat::Text,
            log_file: None,
            tcp: Tcp::Always,
            idle_exit: None,
            demo: false,
            locked: None,
            // The developer's own start-up files are none of a test's business.
            login_path: LoginPath::without_shell(),
            script_program: Some(PathBuf::from(env!("CARGO_BIN_EXE_mcpproxy"))),
        };
        let started = within("the daemon to start", daemon::start(options)).await;
        let running = started.unwrap_or_else(|error| panic!("{error}"));
        Self {
            home,
            address: running.addresses[0],
            running,
        }
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Ends it in order; what it has learnt stays in its home.
    pub async fn shutdown(self) -> Home {
        within("the daemon to end", self.running.shutdown()).await;
        self.home
    }

    /// A client of revision 2025-06-18 on this endpoint.
    pub async fn client(&self, path: &str) -> TestClient {
        TestClient::speaking("2025-06-18").connect(self, path).await
    }

    /// The same over HTTP+SSE.
    pub async fn sse_client(&self, path: &str) -> TestClient {
        let speaking = TestClient::speaking("2024-11-05").over_sse();
        speaking.connect(self, path).await
    }

    /// A plain GET.
    pub async fn get(&self, path: &str) -> HttpAnswer {
        http::send(self.address(), "GET", path, &[], "").await
    }

    /// A request on the local socket.
    pub async fn rest(&self, method: &str, path: &str, body: impl Display) -> HttpAnswer {
        let answer = self.home().rest(method, path, body).await;
        answer.expect("the local socket is open while it serves")
    }
}

impl Reachable for TestDaemon {
    fn address(&self) -> SocketAddr {
        self.address
    }
}

/// The daemon as a process of its own. Dropping it kills it.
pub struct DaemonProcess {
    home: Home,
    child: Child,
    address: SocketAddr,
}

impl DaemonProcess {
    /// Starts the program with this server alone, under the name "up".
    pub async fn with_upstream(upstream: &Upstream) -> Self {
        TestDaemon::builder().upstream("up", upstream).spawn().await
    }

    /// Starts the program in a home where one may have lived before.
    pub async fn spawn_in(home: Home) -> Self {
        let command = serve(&home);
        Self::wait_until_it_serves(command, home).await
    }

    /// The same with one more variable in the daemon's environment.
    pub async fn spawn_in_with_env(home: Home, name: &str, value: &str) -> Self {
        let mut command = serve(&home);
        command.env(name, value);
        Self::wait_until_it_serves(command, home).await
    }

    /// The same by a shell that sets a limit with these options of `ulimit` first.
    pub async fn spawn_in_under_ulimit(home: Home, options: &str) -> Self {
        let mut shell = Command::new("/bin/sh");
        shell
            .arg("-c")
            .arg(format!("ulimit {options} && exec \"$0\" \"$@\""))
            .arg(env!("CARGO_BIN_EXE_mcpproxy"));
        let command = serve_by(shell, &home);
        Self::wait_until_it_serves(command, home).await
    }

    async fn wait_until_it_serves(mut command: Command, home: Home) -> Self {
        let mut child = command.spawn().expect("the program starts");
        let waited = until_async("the daemon to serve", async || {
            if child.try_wait().expect("our child").is_some() {
                return Some(None);
            }
            let status = home.rest("GET", "/api/v1/status", "").await?.json();
            let address = status["listen"][0].as_str()?.parse().ok();
            address.map(Some)
        })
        .await;
        let ended = || panic!("the daemon has ended:\n{}", read(&home.log_file()));
        Self {
            address: waited.unwrap_or_else(ended),
            home,
            child,
        }
    }

    /// Runs a second daemon on the same home until it ends, and gives its code and what it said.
    pub async fn spawn_rival(&self) -> (ExitStatus, String) {
        let mut command = serve(&self.home);
        command.stderr(Stdio::piped());
        let rival = command.spawn().expect("the program starts");
        let output = within("the second daemon to give up", rival.wait_with_output()).await;
        let output = output.expect("our child");
        (
            output.status,
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    }

    pub fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// What it has written to stderr.
    pub fn log(&self) -> String {
        read(&self.home.log_file())
    }

    pub async fn client(&self, path: &str) -> TestClient {
        TestClient::speaking("2025-06-18").connect(self, path).await
    }

    /// A client of all servers that sees this tool.
    pub async fn client_of(&self, tool: &str) -> TestClient {
        let client = self.client("/mcp/all").await;
        client.wait_for_tool(tool).await;
        client
    }

    /// Asks it to end, as a service manager does.
    pub fn terminate(&self) {
        processes::terminate(self.pid());
    }

    pub async fn wait(&mut self) -> ExitStatus {
        let status = within("the daemon to end", self.child.wait()).await;
        status.expect("our child")
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The home of one that has ended.
    pub fn into_home(self) -> Home {
        self.home
    }

    /// Kills it without a word and gives back its home.
    pub async fn kill(mut self) -> Home {
        self.child.kill().await.expect("our child");
        self.home
    }
}

impl Reachable for DaemonProcess {
    fn address(&self) -> SocketAddr {
        self.address
    }
}

fn serve(home: &Home) -> Command {
    serve_by(Command::new(env!("CARGO_BIN_EXE_mcpproxy")), home)
}

fn serve_by(mut command: Command, home: &Home) -> Command {
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--config"])
        .arg(home.existing_config_file())
        .arg("--data-dir")
        .arg(home.data_dir())
        // Start-up files of whoever runs the tests must not matter, and must not be cut short.
        .env("SHELL", "/bin/sh")
        .env("HOME", home.folder.path())
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("CODEX_HOME")
        .env_remove("CLAUDE_CONFIG_DIR")
        .env_remove("MAGG_CONFIG_PATH")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(home.log())
        .kill_on_drop(true);
    command
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
