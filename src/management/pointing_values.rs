//! Values of variables that tell a server where to find something, whom to talk to or what to run, whatever the variable is called. Pure;
//! names of variables are looked at elsewhere.

/// Whether a value is, or has in it, a place of this machine, a peer, an option or something that a shell runs: whatever the variable is
/// called, whoever sets it may make the server load or reach something else.
pub(super) fn says_where(value: &str) -> bool {
    if value.contains("://") || value.contains('`') || value.contains("$(") || is_option(value) {
        return true;
    }
    // A name of somebody else's home, or of a resource, may follow a separator, too.
    let words = value.split(|c: char| c.is_whitespace() || "=,;|\"'()[]{}<>&".contains(c));
    words
        .filter(|word| !word.is_empty())
        .any(|word| is_place(word) || is_peer(word) || word.split(':').any(is_place))
}

/// `-r x`, `--require=x`; a negative number is none.
fn is_option(value: &str) -> bool {
    let value = value.trim_start();
    let rest = value
        .strip_prefix('-')
        .map(|rest| rest.trim_start_matches('-'));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// `/x`, `~/x`, `./x`, `a/../x`, `C:\\x`, `\\\\host\\x`, `@x/y` of a response file.
fn is_place(word: &str) -> bool {
    let word = word.replace('\\', "/");
    let drive = word.as_bytes();
    let has_drive =
        drive.len() >= 3 && drive[0].is_ascii_alphabetic() && drive[1..].starts_with(b":/");
    word.starts_with(['/', '~'])
        || word.starts_with("./")
        || word.starts_with("@/")
        || word.split('/').any(|part| part == "..")
        || has_drive
}

/// `host:80`, `[::1]:80`, `10.0.0.1`, `git@host:x`.
fn is_peer(word: &str) -> bool {
    let word = word.rsplit_once('@').map_or(word, |(_, host)| host);
    if word.parse::<std::net::IpAddr>().is_ok() {
        return true;
    }
    let Some((host, after)) = word.rsplit_once(':') else {
        return false;
    };
    let port = after.split('/').next().unwrap_or_default();
    let is_port = port.parse::<u16>().is_ok();
    let is_name = |c: char| c.is_alphanumeric() || ".-_:".contains(c);
    let has_letters = host.contains(|c: char| c.is_alphabetic() || c == '.');
    is_port && has_letters && host.chars().all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_point_somewhere_are_known_whatever_they_are_called() {
        for value in [
            "/evil",
            "/",
            "~",
            "~/x",
            "~root/x",
            "../x",
            "a/../../x",
            "..",
            "./x",
            "a:/evil",
            "a:b:../x",
            "x=/evil",
            "--require /x",
            "-r x",
            "--config=x",
            "https://evil.example",
            "file:///x",
            "evil.example:80",
            "localhost:80",
            "10.0.0.1",
            "10.0.0.1:80",
            "::1",
            "[::1]:80",
            "user@evil.example:22",
            "a, evil.example:443",
            "C:\\evil",
            "c:/evil",
            "\\\\host\\share",
            "`x`",
            "$(x)",
            "\"/evil\"",
            "{\"path\": \"/evil\"}",
            "evil.example:80/path",
            "@/evil",
            "x /evil",
        ] {
            assert!(says_where(value), "{value}");
        }
        for value in [
            "",
            "x",
            "debug",
            "true",
            "1",
            "-1",
            "-0.5",
            "1.5",
            "2m",
            "12:30",
            "12:30:00",
            "a,b",
            "Europe/Berlin",
            "application/json",
            "owner/repo",
            "me@example.com",
            "en_US.UTF-8",
            "plain words",
            "sk-abc/def+x==",
            "gpt-4o",
            "v1.2.3",
            "a:b",
            "info,x=debug",
            "*",
            "50%",
            "2025-01-01T10:00:00Z",
            "Bearer x",
            "...",
            "-",
        ] {
            assert!(!says_where(value), "{value}");
        }
    }
}
