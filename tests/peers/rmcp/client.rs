//! The official Rust SDK as a client of a running daemon: connects in the way given (`initialize`, `discover` or `auto`) to the URL
//! given, or to the command given, writes the names of the tools it sees, then makes the calls that it reads, one JSON object
//! `{"name", "arguments"}` a line, and writes each result as a line. Where `REPLIES` is `{"form": …, "text": …}` it can be asked things,
//! answers each form and each prompt so, and writes at the end what it was asked.

#![expect(
    deprecated,
    reason = "sampling is on its way out, but servers still ask for it"
)]

use std::{
    io::{BufRead, Write},
    process::Stdio,
    sync::Mutex,
};

use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData,
    model::{
        CallToolRequestParams, ClientCapabilities, ClientConfig, CreateMessageRequestParams,
        CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction, Implementation,
        ProtocolVersion, Role, SamplingMessage, SamplingMessageContentBlock,
    },
    service::{RequestContext, RoleClient},
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::Value;
use tokio::process::Command;

struct Client {
    replies: Option<Value>,
    asked: Mutex<Vec<String>>,
}

impl Client {
    fn ask(&self, question: String) -> Value {
        self.asked.lock().expect("nobody panics").push(question);
        self.replies.clone().unwrap_or_default()
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let capabilities = match self.replies {
            Some(_) => ClientCapabilities::builder()
                .enable_elicitation()
                .enable_sampling()
                .build(),
            None => ClientCapabilities::default(),
        };
        ClientConfig::new(capabilities, Implementation::new("peers", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let form = self.ask(message)["form"].take();
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(form))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let first = params.messages.into_iter().next();
        let content = first.and_then(|message| message.content.into_vec().pop());
        let prompt = content.as_ref().and_then(|content| content.as_text());
        let replies = self.ask(prompt.map_or_else(String::new, |text| text.text.clone()));
        let said = replies["text"].as_str().unwrap_or_default();
        let content = SamplingMessageContentBlock::text(said);
        let message = SamplingMessage::new(Role::Assistant, content);
        Ok(CreateMessageResult::new(message, "scripted".to_owned()))
    }
}

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
    let replies = std::env::var("REPLIES").ok();
    let us = Client {
        replies: replies
            .map(|text| serde_json::from_str(&text))
            .transpose()?,
        asked: Mutex::default(),
    };
    let (client, child) = match arguments.as_slice() {
        [] | [_] => return Err("the arguments are a way and a URL, or a way and a command".into()),
        [_, url] => {
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            let transport = StreamableHttpClientTransport::from_config(config);
            (us.serve_with_lifecycle(transport, lifecycle).await?, None)
        }
        [_, program, arguments @ ..] => {
            let mut child = Command::new(program)
                .args(arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .kill_on_drop(true)
                .spawn()?;
            let pipes = child.stdout.take().zip(child.stdin.take());
            let (output, input) = pipes.ok_or("the child has no pipes")?;
            let client = us.serve_with_lifecycle((output, input), lifecycle).await?;
            (client, Some(child))
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
        let result = client.call_tool(call).await?;
        writeln!(output, "{}", serde_json::to_string(&result)?)?;
    }
    if client.service().replies.is_some() {
        let asked = client.service().asked.lock().expect("nobody panics");
        writeln!(output, "{}", serde_json::to_string(&*asked)?)?;
    }
    client.cancel().await?;
    // Its input is closed, and with that it ends.
    if let Some(mut child) = child {
        child.wait().await?;
    }
    Ok(())
}
