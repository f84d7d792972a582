//! The server behind everything that is measured. It answers at once, so that what is measured is never its own time.
//!
//! `echo_server LISTEN` serves Streamable HTTP, and HTTP+SSE at `/sse`; the path `/FROM/COUNT` says which tools there are.
//! `echo_server FROM COUNT` serves the same tools on its pipes.
//!
//! The first two tools are `echo` and `sleep`; the others are made up, and are only listed.

mod answers;
mod http;
mod tools;

use std::{
    env,
    error::Error,
    io::{self, BufRead, BufReader, BufWriter, Write},
    sync::{Arc, Mutex},
    thread,
};

use answers::{Answer, answer};

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.as_slice() {
        [listen] => http::serve(listen),
        [from, count] => Ok(serve_pipes(&tools::list(from.parse()?, count.parse()?))?),
        _ => Err("echo_server LISTEN, or echo_server FROM COUNT".into()),
    }
}

/// One message a line, until the input ends.
fn serve_pipes(tools: &str) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 20, io::stdin());
    let output = Arc::new(Mutex::new(BufWriter::new(io::stdout())));
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        match answer(&line, tools) {
            Answer::Nothing => (),
            Answer::Now(message) => {
                let mut output = output.lock().expect("no panic under lock");
                output.write_all(&message)?;
                output.write_all(b"\n")?;
                // Answers to what came together leave together.
                if input.buffer().is_empty() {
                    output.flush()?;
                }
            }
            Answer::After(time, message) => {
                let output = output.clone();
                thread::spawn(move || {
                    thread::sleep(time);
                    let mut output = output.lock().expect("no panic under lock");
                    // It fails where nobody reads any more.
                    let _ = output
                        .write_all(&message)
                        .and_then(|()| output.write_all(b"\n"))
                        .and_then(|()| output.flush());
                });
            }
        }
        line.clear();
    }
    Ok(())
}
