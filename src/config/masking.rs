//! What looks like a credential, so that listings mask it. Guesses err on the side of masking.

use crate::secret::MASK;

/// Parts of names whose values are secrets, in lower case without `_` and `-`.
const SECRET_NAMES: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "authorization",
    "auth",
    "bearer",
    "cookie",
    "session",
    "signature",
    "webhook",
    "connectionstring",
    "dsn",
    "pat",
];

/// How well-known credentials begin.
const SECRET_PREFIXES: &[&str] = &[
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xox",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "eyJ",
    "hf_",
    "npm_",
    "pypi-",
    "dop_v1_",
    "shpat_",
    "SG.",
    "figd_",
    "lin_api_",
    "ntn_",
    "secret_",
    "-----BEGIN",
    "Bearer ",
    "Basic ",
];

/// Limit: shorter runs of letters and digits are words, versions or dates.
const TOKEN_RUN: usize = 20;

/// Whether a variable, flag, header or parameter of this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let folded: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    // "pat" and "auth" inside other words ("path", "author") are no secrets.
    let is_word = |part: &str| {
        name.split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| word.eq_ignore_ascii_case(part))
    };
    folded == "key"
        || SECRET_NAMES.iter().any(|part| match *part {
            "pat" | "auth" | "session" | "dsn" | "signature" => is_word(part),
            _ => folded.contains(part),
        })
        || is_word("key")
        || is_word("pass")
        || is_word("pwd")
}

/// Whether a value looks like a credential by itself.
pub(super) fn is_credential(value: &str) -> bool {
    if SECRET_PREFIXES.iter().any(|p| value.starts_with(p)) && value.len() >= 8 {
        return true;
    }
    is_uuid(value)
        || value
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(is_token_run)
}

fn is_uuid(value: &str) -> bool {
    let groups: Vec<&str> = value.split('-').collect();
    groups.iter().map(|g| g.len()).eq([8, 4, 4, 4, 12])
        && groups
            .iter()
            .all(|g| g.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A long run of mixed letters and digits, as random tokens are.
fn is_token_run(run: &str) -> bool {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    run.len() >= TOKEN_RUN && digits >= 2 && digits < run.len()
}

/// The arguments of a command as listings show them.
pub(super) fn mask_arguments(arguments: &[String]) -> Vec<String> {
    let mut follows_secret_flag = false;
    arguments
        .iter()
        .map(|argument| {
            let masked = if follows_secret_flag {
                MASK.to_owned()
            } else {
                mask_text(argument)
            };
            let flag = argument.trim_start_matches('-');
            follows_secret_flag =
                flag.len() < argument.len() && !flag.contains('=') && is_secret_name(flag);
            masked
        })
        .collect()
}

/// One argument, command or path as listings show it.
pub(super) fn mask_text(text: &str) -> String {
    if text.contains("://") {
        let (name, url) = match text.split_once('=') {
            Some((name, url)) if !name.contains("://") => (format!("{name}="), url),
            _ => (String::new(), text),
        };
        return name + &mask_url(url);
    }
    for separator in ['=', ':'] {
        if let Some((name, value)) = text.split_once(separator)
            && !value.is_empty()
            && !name.contains('/')
            && (is_secret_name(name) || is_credential(value))
        {
            let space = if value.starts_with(' ') { " " } else { "" };
            return format!("{name}{separator}{space}{MASK}");
        }
    }
    if is_credential(text) {
        MASK.to_owned()
    } else {
        text.to_owned()
    }
}

/// A URL as listings show it: without user, password, secret parameters and path segments that look like keys.
pub(super) fn mask_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return mask_text(url);
    };
    let rest = rest.split('#').next().unwrap_or_default();
    let (place, query) = match rest.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (rest, None),
    };
    let mut segments = place.split('/');
    let authority = segments.next().unwrap_or_default();
    let mut shown = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{MASK}@{host}"),
        None => format!("{scheme}://{authority}"),
    };
    for segment in segments {
        shown.push('/');
        shown.push_str(if is_credential(segment) {
            MASK
        } else {
            segment
        });
    }
    if let Some(query) = query {
        let parameters: Vec<String> = query.split('&').map(mask_parameter).collect();
        shown.push('?');
        shown.push_str(&parameters.join("&"));
    }
    shown
}

fn mask_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, value)) if is_secret_name(name) || is_credential(value) => {
            format!("{name}={MASK}")
        }
        None if is_credential(parameter) => MASK.to_owned(),
        _ => parameter.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &[&str], expected: &[&str]) {
        let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        assert_eq!(mask_arguments(&arguments), expected);
    }

    #[test]
    fn arguments_that_carry_credentials_are_masked() {
        check(&["--token", "abc", "x"], &["--token", "***", "x"]);
        check(&["--api-key=abc"], &["--api-key=***"]);
        check(&["-e", "GITHUB_TOKEN=abc"], &["-e", "GITHUB_TOKEN=***"]);
        check(
            &["--header", "Authorization: Bearer abc"],
            &["--header", "Authorization: ***"],
        );
        check(&["ghp_0123456789"], &["***"]);
        check(&["--pat", "abc"], &["--pat", "***"]);
        check(&["1b4e28ba-2fa1-11d2-883f-0016d3cca427"], &["***"]);
        check(&["DB=postgres://u:p@h/db"], &["DB=postgres://***@h/db"]);
        check(&["x:ghp_0123456789"], &["x:***"]);
    }

    #[test]
    fn ordinary_arguments_are_shown() {
        for plain in [
            "-y",
            "@modelcontextprotocol/server-filesystem",
            "/home/me/projects",
            "run",
            "--rm",
            "ghcr.io/github/github-mcp-server:v1.2.3",
            "--path",
            "--author=me",
            "--port=8080",
            "mcp-server-sqlite-2025.1.2",
            "C:/Users/me",
            "https://example.com/mcp?x=1",
            "EnvironmentVariablesOfTheWorld",
        ] {
            check(&[plain], &[plain]);
        }
        check(&["--path", "x"], &["--path", "x"]);
    }

    #[test]
    fn urls_lose_their_credentials() {
        let check = |url: &str, expected: &str| assert_eq!(mask_url(url), expected);
        check("https://u:p@h:1/mcp", "https://***@h:1/mcp");
        check(
            "https://h/mcp?api_key=x&a=1",
            "https://h/mcp?api_key=***&a=1",
        );
        check(
            "https://h/s/a8f5f167f44f4964e6c998dee827110c/mcp#x",
            "https://h/s/***/mcp",
        );
        check("http://localhost:3000/mcp", "http://localhost:3000/mcp");
    }
}
