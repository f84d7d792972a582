//! What happens in a run, drawn from its seed alone: who the servers and the clients are, and which faults befall whom and when.

use std::time::Duration;

use crate::support::random::Random;

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    Http,
    Sse,
}

/// The revisions that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    Handshake(&'static str),
    Modern,
    Both,
}

/// One of the fake servers.
#[derive(Debug, Clone)]
pub struct ServerPlan {
    /// No other name has it as a part.
    pub name: String,
    pub transport: Transport,
    pub era: Era,
    /// Faults befall it.
    pub touched: bool,
    /// It is stopped as soon as nobody calls it.
    pub sleepy: bool,
}

/// What befalls a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `kill -9`; over HTTP every connection is cut and nothing is remembered.
    Kill,
    /// SIGSTOP, and SIGCONT after this time.
    Freeze(Duration),
    /// Lines that are no messages, between the others.
    Garbage,
    /// Dies in the middle of its answers.
    HalfAnswers,
    /// Answers that are no JSON.
    Malformed,
    /// Dies instead of answering.
    DiesOfCalls,
    /// Much on stderr.
    Complaints,
    /// Calls are answered late, or too late.
    Silence(Duration),
    /// Is started anew and takes this time to open.
    SlowStart(Duration),
    /// Nobody listens for this time; then the same port or another.
    Away { time: Duration, elsewhere: bool },
    /// POSTs are refused with this status.
    Refuses(u16),
    /// POSTs are done and then refused with this status.
    Fails(u16),
    /// All sessions are unknown.
    ForgetsSessions,
    /// A tool more, a tool less.
    ListChanges,
    /// A definition changes; a person looks at it and approves it, by REST or on the command line.
    Approval { by_command: bool },
    /// Its entry in the configuration changes.
    EntryEdited,
    /// Its entry is switched off and on again.
    SwitchedOff,
    /// An operator restarts it.
    Restarted,
}

impl Fault {
    /// Whether no call may fail of it.
    pub fn is_harmless(self, transport: Transport) -> bool {
        match self {
            Self::Complaints | Self::Garbage | Self::ListChanges => true,
            // What is in flight on a stream that ends is lost.
            Self::ForgetsSessions => transport == Transport::Http,
            _ => false,
        }
    }
}

/// What befalls nobody in particular, and must not cost a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    /// A comment and an unknown key.
    Comment,
    /// A server that cannot start comes and goes.
    Guest,
    /// The file is no JSON for a moment.
    Broken,
}

/// One event of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned<T> {
    pub at: Duration,
    pub what: T,
}

/// The whole run.
#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    pub time: Duration,
    pub servers: Vec<ServerPlan>,
    /// Faults by server, in order.
    pub faults: Vec<Vec<Planned<Fault>>>,
    pub edits: Vec<Planned<Edit>>,
    /// When the daemon is killed.
    pub kills: Vec<Duration>,
}

/// How much time is left at the end for the last fault.
const LAST: Duration = Duration::from_secs(6);

/// The servers of one transport: what each speaks, and whether faults befall it.
type Eras = &'static [(Era, bool)];

/// A transport, the eras of its servers, and which of them are left alone.
const SERVERS: &[(Transport, &str, Eras)] = &[
    (
        Transport::Stdio,
        "pipe",
        &[
            (Era::Handshake("2025-06-18"), false),
            (Era::Handshake("2024-11-05"), true),
            (Era::Handshake("2025-03-26"), true),
            (Era::Modern, false),
            (Era::Modern, true),
            (Era::Handshake("2025-11-25"), false),
            (Era::Both, true),
            (Era::Handshake("2025-06-18"), true),
        ],
    ),
    (
        Transport::Http,
        "web",
        &[
            (Era::Handshake("2025-06-18"), false),
            (Era::Handshake("2025-03-26"), true),
            (Era::Modern, false),
            (Era::Modern, true),
            (Era::Both, true),
            (Era::Handshake("2025-11-25"), true),
        ],
    ),
    (
        Transport::Sse,
        "sse",
        &[
            (Era::Handshake("2024-11-05"), false),
            (Era::Handshake("2024-11-05"), true),
            (Era::Handshake("2024-11-05"), true),
            (Era::Handshake("2024-11-05"), false),
            (Era::Handshake("2024-11-05"), true),
            (Era::Handshake("2024-11-05"), true),
        ],
    ),
];

impl Plan {
    /// The run of this seed.
    pub fn draw(seed: u64, time: Duration) -> Self {
        let servers = servers();
        let mut random = Random::new(seed);
        let mut kills = Vec::new();
        for _ in 0..random.below(3) * time.as_secs() / 60 {
            kills.push(random.time(Duration::from_secs(3), time.saturating_sub(LAST)));
        }
        kills.sort_unstable();
        let faults = servers
            .iter()
            .map(|server| faults_of(server, &mut random, time))
            .collect();
        let mut edits = Vec::new();
        let mut at = Duration::ZERO;
        loop {
            at += random.time(Duration::from_secs(2), Duration::from_secs(8));
            if at + LAST >= time {
                break;
            }
            let what = *random.of(&[Edit::Comment, Edit::Guest, Edit::Broken]);
            edits.push(Planned { at, what });
        }
        Self {
            seed,
            time,
            servers,
            faults,
            edits,
            kills,
        }
    }
}

fn servers() -> Vec<ServerPlan> {
    let mut all = Vec::new();
    for (transport, word, eras) in SERVERS {
        for (number, (era, touched)) in eras.iter().enumerate() {
            all.push(ServerPlan {
                name: format!("{word}-{number}"),
                transport: *transport,
                era: *era,
                touched: *touched,
                sleepy: *transport == Transport::Stdio && [5, 7].contains(&number),
            });
        }
    }
    all
}

fn faults_of(server: &ServerPlan, random: &mut Random, time: Duration) -> Vec<Planned<Fault>> {
    let mut faults = Vec::new();
    if !server.touched {
        return faults;
    }
    let mut at = random.time(Duration::from_secs(1), Duration::from_secs(6));
    while at + LAST < time {
        let what = fault_for(server.transport, random);
        faults.push(Planned { at, what });
        at += random.time(Duration::from_secs(3), Duration::from_secs(13));
    }
    faults
}

fn fault_for(transport: Transport, random: &mut Random) -> Fault {
    let short = random.time(Duration::from_millis(200), Duration::from_secs(3));
    // Sometimes longer than a call may take.
    let pause = if random.below(4) == 0 {
        short + Duration::from_secs(13)
    } else {
        short
    };
    let status = *random.of(&[500, 502, 503, 404, 429]);
    let either = random.below(2) == 0;
    let common = [
        Fault::Kill,
        Fault::HalfAnswers,
        Fault::Malformed,
        Fault::DiesOfCalls,
        Fault::Silence(pause),
        Fault::SlowStart(short),
        Fault::ListChanges,
        Fault::Approval { by_command: either },
        Fault::EntryEdited,
        Fault::SwitchedOff,
        Fault::Restarted,
        Fault::Garbage,
    ];
    let piped = [Fault::Freeze(pause), Fault::Complaints, Fault::Kill];
    let remote = [
        Fault::Away {
            time: short,
            elsewhere: either,
        },
        Fault::Refuses(status),
        Fault::Fails(500),
        Fault::ForgetsSessions,
    ];
    let more: &[Fault] = match transport {
        Transport::Stdio => &piped,
        Transport::Http | Transport::Sse => &remote,
    };
    let all = [&common, more].concat();
    *random.of(&all)
}
