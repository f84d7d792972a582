//! The process of a script: reads the script from stdin, runs it, and writes its messages to stdout. It ends with the script, or when stdin
//! ends, because only the daemon holds the other end. It has no files, no secrets and no environment.

use std::{
    io::{self, BufRead, BufReader, Read, Stdout, Write},
    process,
    sync::mpsc::{Receiver, sync_channel},
    thread,
    time::Duration,
};

use super::{
    engine::{self, ScriptHost},
    limits,
    messages::{CallBatch, ScriptEvent, ScriptStart},
    restrictions,
};

/// The most bytes of a message of the daemon: the largest results, with room for the JSON around them.
const LONGEST: u64 = (limits::RESULTS + (1 << 20)) as u64;

/// Runs the script that stdin brings, and ends this process with it. Returns only if the script cannot begin.
///
/// # Errors
///
/// There was no script, or no thread for it.
pub fn run() -> io::Result<()> {
    let mut input = BufReader::new(io::stdin());
    let line = read_line(&mut input)?;
    let script: ScriptStart = serde_json::from_slice(&line)?;
    let answers = read_answers(input)?;
    restrictions::restrict_this_process(Duration::from_millis(script.cpu_ms));
    let running = thread::Builder::new()
        .name("script".to_owned())
        .stack_size(limits::THREAD_STACK)
        .spawn(move || {
            let pipes = Pipes {
                answers,
                output: io::stdout(),
            };
            engine::run(script, pipes, |end| {
                // Without freeing the engine, which may fail after a lack of memory.
                let is_sent = send(&mut io::stdout(), &ScriptEvent::Ended(end));
                process::exit(i32::from(!is_sent));
            });
        })?;
    running
        .join()
        .map_err(|_| io::Error::other("the engine crashed"))
}

struct Pipes {
    answers: Receiver<Vec<u8>>,
    output: Stdout,
}

impl ScriptHost for Pipes {
    fn call(&mut self, batch: CallBatch) -> Option<Vec<u8>> {
        if !send(&mut self.output, &ScriptEvent::Calls(batch)) {
            return None;
        }
        self.answers.recv().ok()
    }

    fn log(&mut self, line: String) -> bool {
        send(&mut self.output, &ScriptEvent::Log(line))
    }
}

/// Reads the daemon's messages on a separate thread, so that the end of the daemon also ends a script that only computes.
fn read_answers(mut input: impl BufRead + Send + 'static) -> io::Result<Receiver<Vec<u8>>> {
    let (answers, received) = sync_channel(1);
    thread::Builder::new()
        .name("input".to_owned())
        .spawn(move || {
            while let Ok(line) = read_line(&mut input) {
                if answers.send(line).is_err() {
                    return;
                }
            }
            process::exit(1);
        })?;
    Ok(received)
}

/// Writes a message. False if the daemon does not read it.
fn send(output: &mut Stdout, event: &ScriptEvent) -> bool {
    let Ok(mut line) = serde_json::to_vec(event) else {
        return false;
    };
    line.push(b'\n');
    output
        .write_all(&line)
        .and_then(|()| output.flush())
        .is_ok()
}

/// Reads a whole line. The end of the input is an error: the daemon is gone.
fn read_line(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    input.take(LONGEST).read_until(b'\n', &mut line)?;
    if line.last() == Some(&b'\n') {
        Ok(line)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_breaks_off_is_none() {
        let read = |text: &str| read_line(&mut text.as_bytes()).ok();
        assert_eq!(read("{}\nx"), Some(b"{}\n".to_vec()));
        assert_eq!(read("{}"), None);
        assert_eq!(read(""), None);
    }
}
