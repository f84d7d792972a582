//! Plays a [`Script`]: frames in, frames out. Knows MCP, knows no transport.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::modern::{self, Word};
use super::presentation::{discover_result, initialize_result};
use super::request::{Frame, Request, json_string, send};
use super::script::{Behaviour, Offer, Script, Step, UnknownMethods};

/// What the interpreter wants written.
#[derive(Debug, Clone)]
pub enum Output {
    /// A frame that does not end the request: a notification or a question.
    Notice(String),
    /// The frame that ends the request.
    Answer(String),
    /// Half of the frame that would end the request; then the server dies.
    Half(String),
    /// The server dies.
    Death,
}

/// Plays one script for any number of requests at once.
pub struct Interpreter {
    script: watch::Sender<Arc<Script>>,
    questions: Mutex<HashMap<String, oneshot::Sender<String>>>,
    last_question: AtomicU64,
    /// How often it was asked who it is.
    asked: AtomicU64,
    /// What the client of the last `initialize` can do.
    able: Mutex<Value>,
    /// What subscriptions hear.
    words: broadcast::Sender<Word>,
}

impl Interpreter {
    pub fn new(script: Script) -> Self {
        Self {
            script: watch::Sender::new(Arc::new(script)),
            questions: Mutex::new(HashMap::new()),
            last_question: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            able: Mutex::default(),
            words: broadcast::Sender::new(64),
        }
    }

    pub fn script(&self) -> Arc<Script> {
        self.script.borrow().clone()
    }

    pub fn follow(&self, script: Script) {
        self.script.send_replace(Arc::new(script));
    }

    /// What subscriptions will hear from now on. Taken before anybody learns of a frame, so that what the test says as soon as it
    /// knows of a subscription is heard on it.
    pub fn words(&self) -> broadcast::Receiver<Word> {
        self.words.subscribe()
    }

    /// Says something on the subscriptions.
    pub fn tell(&self, word: Word) {
        // Nobody may listen.
        let _ = self.words.send(word);
    }

    /// Takes one frame of the client and sends everything that follows from it. `words` were taken before anybody knew of it.
    pub async fn receive(
        &self,
        text: &str,
        words: broadcast::Receiver<Word>,
        out: mpsc::Sender<Output>,
    ) {
        let Ok(frame) = serde_json::from_str::<Frame>(text) else {
            let answer =
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#;
            send(&out, Output::Answer(answer.to_owned())).await;
            return;
        };
        match (frame.id, &frame.method) {
            (Some(id), Some(method)) => {
                let request = Request::new(id, method, frame.params, out);
                self.answer(&request, words).await;
            }
            (Some(id), None) => self.note_answer(id.get(), text),
            (None, _) => self.note_withdrawal(&frame),
        }
    }

    fn note_withdrawal(&self, frame: &Frame<'_>) {
        #[derive(Deserialize)]
        struct Cancelled<'a> {
            #[serde(borrow, rename = "requestId")]
            id: &'a RawValue,
        }
        let params = frame.params.map_or("{}", RawValue::get);
        if let Ok(cancelled) = serde_json::from_str::<Cancelled<'_>>(params) {
            self.tell(Word::Withdrawn(cancelled.id.get().to_owned()));
        }
    }

    fn note_answer(&self, id: &str, text: &str) {
        let asked = self
            .questions
            .lock()
            .expect("no panic under lock")
            .remove(id);
        if let Some(asked) = asked {
            // The asking request may have ended meanwhile.
            let _ = asked.send(text.to_owned());
        }
    }

    async fn answer(&self, request: &Request<'_>, words: broadcast::Receiver<Word>) {
        let script = self.script();
        if script.opening_delay_ms > 0
            && ["initialize", "server/discover"].contains(&&*request.method)
        {
            tokio::time::sleep(Duration::from_millis(script.opening_delay_ms)).await;
        }
        if request.method == "initialize" {
            let params = request.raw_params.unwrap_or("{}");
            let params: Value = serde_json::from_str(params).unwrap_or_default();
            *self.able.lock().expect("no panic under lock") = params["capabilities"].clone();
        }
        if let Some(behaviour) = script.answers.get(&*request.method) {
            return self.play(behaviour, request).await;
        }
        if script.is_modern() && (script.is_modern_only() || request.speaks_for_itself()) {
            return self.answer_modern(request, words, &script).await;
        }
        self.answer_known(request, &script).await;
    }

    async fn answer_modern(
        &self,
        request: &Request<'_>,
        words: broadcast::Receiver<Word>,
        script: &Script,
    ) {
        let speaks: Vec<String> = match &script.supported {
            Some(supported) => supported.clone(),
            None => vec![modern::REVISION.to_owned()],
        };
        if let Some(fault) = modern::fault(request.raw_params, &speaks) {
            return request.end("error", &fault).await;
        }
        match &*request.method {
            "server/discover" => request.reply(&discover_result(script)).await,
            "subscriptions/listen" => {
                modern::listen(request.id, request.raw_params, words, request.out.clone()).await;
            }
            removed @ ("initialize"
            | "ping"
            | "logging/setLevel"
            | "resources/subscribe"
            | "resources/unsubscribe") => {
                let message = format!("method not found: {removed}");
                request.refuse(-32601, &message).await;
            }
            _ => self.answer_known(request, script).await,
        }
    }

    async fn answer_known(&self, request: &Request<'_>, script: &Script) {
        let params = &request.params;
        match &*request.method {
            "initialize" => request.reply(&initialize_result(script)).await,
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
                request.reply("{}").await;
            }
            "tools/list" => request.list("tools", &script.tools, script).await,
            "prompts/list" => request.list("prompts", &script.prompts, script).await,
            "resources/list" => {
                request.list("resources", &script.resources, script).await;
            }
            "resources/templates/list" => {
                request
                    .list("resourceTemplates", &script.templates, script)
                    .await;
            }
            "tools/call" => {
                self.use_offer(&script.tools, params.name.as_deref(), -32602, request)
                    .await;
            }
            "prompts/get" => {
                self.use_offer(&script.prompts, params.name.as_deref(), -32602, request)
                    .await;
            }
            "resources/read" => {
                self.use_offer(&script.resources, params.uri.as_deref(), -32002, request)
                    .await;
            }
            method => match script.unknown_methods {
                UnknownMethods::Refused => {
                    let message = format!("method not found: {method}");
                    request.refuse(-32601, &message).await;
                }
                UnknownMethods::Ignored => (),
                UnknownMethods::Fatal => send(&request.out, Output::Death).await,
            },
        }
    }

    async fn use_offer(
        &self,
        offers: &[Offer],
        key: Option<&str>,
        code: i32,
        request: &Request<'_>,
    ) {
        let key = key.unwrap_or_default();
        match offers.iter().find(|offer| offer.key == key) {
            Some(offer) => self.play(&offer.behaviour, request).await,
            None => request.refuse(code, &format!("unknown: {key}")).await,
        }
    }

    async fn play(&self, behaviour: &Behaviour, request: &Request<'_>) {
        let mut answer = String::from("null");
        for step in &behaviour.0 {
            match step {
                Step::Progress(times) => request.send_progress(*times).await,
                Step::Gate(name) => {
                    let mut script = self.script.subscribe();
                    // The sender lives in `self`, so this ends only with the gate open.
                    let _ = script
                        .wait_for(|script| script.open_gates.contains(name))
                        .await;
                }
                Step::Notice(frame) => send(&request.out, Output::Notice(frame.clone())).await,
                Step::Ask { method, params } => answer = self.ask(method, params, request).await,
                Step::AskTheAble {
                    capability,
                    method,
                    params,
                } => {
                    if self.is_able(capability) {
                        answer = self.ask(method, params, request).await;
                    }
                }
                Step::ReplyToTheAble { capability, result } if self.is_able(capability) => {
                    return request.reply(result).await;
                }
                Step::ReplyToTheAble { .. } => (),
                Step::Itself => return request.reply(&text_result(&self.itself())).await,
                Step::Reply(result) => return request.reply(result).await,
                Step::ReplyWithAnswer => return request.reply(&text_result(&answer)).await,
                Step::Error(error) => return request.end("error", error).await,
                Step::Echo => return request.echo().await,
                Step::EchoAtLength => return request.echo_at_length().await,
                Step::Journal(file) => request.journal(file),
                Step::HalfEcho => return request.half_echo().await,
                Step::Course => return self.run(request).await,
                Step::Environment => return request.reply(&text_result(&environment())).await,
                Step::Oversized(size) => {
                    return request.reply(&text_result(&"x".repeat(*size))).await;
                }
                Step::Malformed => {
                    let broken = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"#, request.id);
                    return send(&request.out, Output::Answer(broken)).await;
                }
                Step::Hang => return request.out.closed().await,
                Step::Exit => return send(&request.out, Output::Death).await,
            }
        }
    }

    fn is_able(&self, capability: &str) -> bool {
        let able = self.able.lock().expect("no panic under lock");
        able.get(capability).is_some()
    }

    fn itself(&self) -> String {
        let calls = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let cwd = std::env::current_dir().expect("a folder");
        serde_json::json!({ "pid": std::process::id(), "cwd": cwd, "calls": calls }).to_string()
    }

    async fn ask(&self, method: &str, params: &str, request: &Request<'_>) -> String {
        let number = self.last_question.fetch_add(1, Ordering::Relaxed) + 1;
        self.ask_as(&number.to_string(), method, params, request)
            .await
    }

    async fn run(&self, request: &Request<'_>) {
        #[derive(Deserialize)]
        struct Course {
            token: String,
            course: Vec<String>,
        }
        let Course { token, course } = serde_json::from_str(request.arguments()).expect("a course");
        for (n, step) in course.iter().enumerate() {
            match &**step {
                "log" => {
                    let line = format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"error","data":"of {token}"}}}}"#
                    );
                    send(&request.out, Output::Notice(line)).await;
                }
                "ask" => {
                    let params = format!(
                        r#"{{"message":"of {token}","requestedSchema":{{"type":"object","properties":{{}}}}}}"#
                    );
                    let id = format!(r#""{token}/{n}""#);
                    self.ask_as(&id, "elicitation/create", &params, request)
                        .await;
                }
                "pause" => tokio::time::sleep(Duration::from_millis(3)).await,
                "reply" => request.reply(&text_result(&token)).await,
                other => panic!("no step of a course: {other}"),
            }
        }
    }

    async fn ask_as(&self, id: &str, method: &str, params: &str, request: &Request<'_>) -> String {
        let (asked, answer) = oneshot::channel();
        self.questions
            .lock()
            .expect("no panic under lock")
            .insert(id.to_owned(), asked);
        let question =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        send(&request.out, Output::Notice(question)).await;
        tokio::select! {
            answer = answer => answer.unwrap_or_default(),
            () = request.out.closed() => String::new(),
        }
    }
}

fn text_result(text: &str) -> String {
    let text = json_string(text);
    format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#)
}

fn environment() -> String {
    let variables = std::env::vars_os()
        .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()));
    variables.collect::<Vec<_>>().join("\n")
}
