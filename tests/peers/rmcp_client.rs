//! The official Rust SDK as a client of a running daemon: connects in the way given (`initialize`, `discover` or `auto`) to the URL
//! given, or to the command given, writes the names of the tools it sees, then makes the calls that it reads, one JSON object `{"name", "arguments"}` a line, and writes each result as a line.

use std::io::{BufRead, Write};

use rmcp::{
    ClientLifecycleMode, ClientServiceExt,
    model::{CallToolRequestParams, ClientConfig, ProtocolVersion},
    transport::{
        StreamableHttpClientTransport, TokioChildProcess,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::process::Command;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match arguments.first().map(String::as_str) {
        Some("discover") => ClientLifecycleMode::Discover { preferred_versions },
        Some("auto") => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: None,
        },
        _ => ClientLifecycleMode::Initialize,
    };
    let client = match arguments.as_slice() {
        [] | [_] => return Err("the arguments are a way and a URL, or a way and a command".into()),
        [_, url] => {
            // The client wants a provider even where it never speaks TLS.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            let transport = StreamableHttpClientTransport::from_config(config);
            ClientConfig::default()
                .serve_with_lifecycle(transport, lifecycle)
                .await?
        }
        [_, program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments);
            let transport = TokioChildProcess::new(command)?;
            ClientConfig::default()
                .serve_with_lifecycle(transport, lifecycle)
                .await?
        }
    };
    let names: Vec<String> = client
        .peer()
        .list_all_tools()
        .await?
        .into_iter()
        .map(|tool| tool.name.into_owned())
        .collect();
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", serde_json::to_string(&names)?)?;
    for line in std::io::stdin().lock().lines() {
        let call: CallToolRequestParams = serde_json::from_str(&line?)?;
        let result = client.peer().call_tool(call).await?;
        writeln!(output, "{}", serde_json::to_string(&result)?)?;
    }
    client.cancel().await?;
    Ok(())
}
