//! The test's end of the line to fake children: they report what they receive, and take commands.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

use super::{
    patience, processes,
    record::{How, Received, Record},
    script::{Command, Report},
};

/// Listens for children of one script, for as long as the test's runtime lives.
pub struct Control {
    pub address: SocketAddr,
    children: Arc<Mutex<Vec<Child>>>,
}

#[derive(Clone)]
struct Child {
    pid: u32,
    commands: mpsc::Sender<(Command, mpsc::Sender<()>)>,
}

impl Control {
    pub async fn listen(record: Record) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket");
        let children = Arc::<Mutex<Vec<Child>>>::default();
        let known = children.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(attend(stream, known.clone(), record.clone()));
            }
        });
        Self { address, children }
    }

    /// The process id of every child that ever started.
    pub fn pids(&self) -> Vec<u32> {
        self.all().iter().map(|child| child.pid).collect()
    }

    /// The process id of every child that runs.
    pub fn alive(&self) -> Vec<u32> {
        self.running().iter().map(|child| child.pid).collect()
    }

    /// Gives the command to every running child and waits until it was carried out, or the child is gone.
    pub async fn command(&self, command: &Command) {
        for child in self.running() {
            let (done, mut finished) = mpsc::channel(1);
            if child.commands.send((command.clone(), done)).await.is_ok() {
                patience::within("a child to do as told", finished.recv()).await;
            }
        }
    }

    fn all(&self) -> Vec<Child> {
        self.children.lock().expect("no panic under lock").clone()
    }

    fn running(&self) -> Vec<Child> {
        let mut children = self.all();
        // One that has just ended is known to the system before its connection is seen to close.
        children.retain(|child| !child.commands.is_closed() && processes::runs(child.pid));
        children
    }
}

async fn attend(stream: TcpStream, children: Arc<Mutex<Vec<Child>>>, record: Record) {
    stream.set_nodelay(true).expect("a connected socket");
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    let (commands, mut orders) = mpsc::channel::<(Command, mpsc::Sender<()>)>(16);
    let mut order_done = None;
    loop {
        // One order at a time: the next is taken when the child has reported the last as done.
        tokio::select! {
            line = lines.next_line() => {
                let Ok(Some(line)) = line else { return };
                match serde_json::from_str(&line).expect("a child sends reports") {
                    Report::Started { pid } => {
                        let child = Child { pid, commands: commands.clone() };
                        children.lock().expect("no panic under lock").push(child);
                    }
                    Report::Received(body) => {
                        record.note(Received { how: How::Frame, headers: Vec::new(), body });
                    }
                    Report::Done => {
                        order_done = None;
                        continue;
                    }
                }
                send(&mut writer, &Command::Noted).await;
            }
            Some((command, done)) = orders.recv(), if order_done.is_none() => {
                send(&mut writer, &command).await;
                // Held until the child is done or gone; dropping it lets the commander go on.
                order_done = Some(done);
            }
        }
    }
}

async fn send(writer: &mut (impl AsyncWriteExt + Unpin), command: &Command) {
    let line = serde_json::to_string(command).expect("commands are plain data") + "\n";
    // A child that is gone is noticed while reading.
    let _ = writer.write_all(line.as_bytes()).await;
}
