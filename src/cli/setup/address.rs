//! The address that --listen or --port of `mcpproxy setup` chooses.

use super::super::{
    CommandFailure, Done,
    daemon_options::{address_of, read_address},
    typed::setup_at,
};
use crate::{config::Listen, management::DaemonLocation};

/// The chosen address. It must be one of this machine, with a fixed port.
pub(super) fn chosen_address(listen: Option<&str>, port: Option<u16>) -> Done<Option<Listen>> {
    let Some(address) = address_of(listen, port) else {
        return Ok(None);
    };
    let listen = read_address(&address)?;
    if listen.port() == 0 {
        let what =
            "port 0 means a different port at every start, but clients' files need a fixed address";
        return Err(CommandFailure::usage(what).next("choose a free port, such as 8081"));
    }
    match listen.for_this_machine() {
        Ok(()) => Ok(Some(listen)),
        Err(error) => {
            let step = setup_at(&format!("--port {}", listen.port()));
            Err(CommandFailure::usage(error.to_string()).next(format!("`{step}`")))
        }
    }
}

/// Refuses an address that leaves out the one of the running daemon's URL. Clients are given that URL, and after a restart they could not
/// connect.
pub(super) fn check_address(listen: Listen, location: Option<&DaemonLocation>) -> Done {
    let given = location.and_then(DaemonLocation::page_base);
    let mut addresses = listen.addresses().into_iter();
    if addresses.any(|address| given == Some(format!("http://{address}"))) {
        return Ok(());
    }
    let url = location.and_then(|location| location.url.as_deref());
    let at = url.map_or("without HTTP".to_owned(), |url| format!("at {url}"));
    Err(CommandFailure::failed(format!(
        "the daemon is already running {at}; a new address needs a restart"
    ))
    .undone(super::UNDONE)
    .next(format!(
        "`mcpproxy stop`, then `{}`",
        setup_at(&format!("--listen {listen}"))
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_of_this_machine_that_stays_is_taken() {
        let check = |listen: Option<&str>, port, expected: Result<Option<&str>, &str>| {
            let chosen = chosen_address(listen, port).map_err(|failure| failure.in_words());
            match (chosen, expected) {
                (Ok(chosen), Ok(expected)) => {
                    assert_eq!(chosen.map(|it| it.to_string()).as_deref(), expected);
                }
                (Err(failure), Err(part)) => assert!(failure.contains(part), "{failure}"),
                (chosen, expected) => panic!("{chosen:?} instead of {expected:?}"),
            }
        };
        check(None, None, Ok(None));
        check(None, Some(8081), Ok(Some("127.0.0.1:8081")));
        check(Some("localhost:8081"), None, Ok(Some("localhost:8081")));
        check(Some("8081"), None, Err("is not an address"));
        check(None, Some(0), Err("port 0 means"));
        check(Some("0.0.0.0:8081"), None, Err("other machines can reach"));
    }

    #[test]
    fn the_address_of_the_daemon_that_runs_is_the_only_one() {
        let location = DaemonLocation {
            listen: ["127.0.0.1:18081", "[::1]:18081"]
                .map(|address| address.parse().expect("an address"))
                .to_vec(),
            url: Some("http://127.0.0.1:18081/mcp".to_owned()),
            ..DaemonLocation::default()
        };
        let check = |listen: &str, location: Option<&DaemonLocation>| {
            check_address(listen.parse().expect("an address"), location)
                .map_err(|failure| failure.in_words())
        };
        assert_eq!(check("localhost:18081", Some(&location)), Ok(()));
        for other in ["127.0.0.1:8081", "[::1]:18081", "127.0.0.2:18081"] {
            let refused = check(other, Some(&location)).expect_err("another address");
            assert!(refused.contains("http://127.0.0.1:18081/mcp"), "{refused}");
        }
        for everywhere in ["[::]:18081", "0.0.0.0:18081"] {
            let location = DaemonLocation {
                listen: vec![everywhere.parse().expect("an address")],
                ..location.clone()
            };
            assert_eq!(check("127.0.0.1:18081", Some(&location)), Ok(()));
        }
        let refused = check("127.0.0.1:8081", None).expect_err("no port at all");
        assert!(refused.contains("without HTTP"), "{refused}");
    }
}
