//! What of an entry's values is a credential, and must not show where somebody repeats it.

use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::percent_decode_str;

use crate::text::redact::{self, TextKind, is_secret_name};

/// Of the arguments of a command.
pub(super) fn in_arguments(arguments: &[String]) -> Vec<String> {
    let hidden = redact::hidden_in_arguments(arguments).into_iter();
    hidden.map(str::to_owned).collect()
}

/// Of an address: of `user:password` also the password by itself, and both as a header carries them (RFC 7617).
pub(super) fn in_url(url: &str) -> Vec<String> {
    let hidden = redact::hidden_texts(url, TextKind::Word);
    let mut found: Vec<String> = hidden.iter().map(|text| (*text).to_owned()).collect();
    for text in hidden {
        if let Some((_, password)) = text.split_once(':') {
            found.push(password.to_owned());
            let decoded: Vec<u8> = percent_decode_str(text).collect();
            found.push(BASE64_STANDARD.encode(decoded));
        }
    }
    found
}

/// Of the value of a variable: all of it, unless variables of that name lead somewhere; then what looks so.
pub(super) fn in_variable(name: &str, value: &str) -> Vec<String> {
    if is_safe_variable(name) {
        in_url(value)
    } else {
        vec![value.to_owned()]
    }
}

/// Of a variable that an entry sets.
pub(super) fn in_setting(name: &str, value: &str) -> Vec<String> {
    if is_secret_name(name) {
        vec![value.to_owned()]
    } else {
        in_url(value)
    }
}

// Variables that hold no secrets as a rule.

/// Variables that programs need to find their way and that hold no secrets as a rule. `PATH` is here for the name's sake:
/// children get the login shell's.
const SAFE_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "TMPDIR",
    "TMP",
    "TEMP",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "NIX_SSL_CERT_FILE",
    "NVM_DIR",
    "VOLTA_HOME",
    "FNM_DIR",
    "ASDF_DIR",
    "MISE_DATA_DIR",
    "PNPM_HOME",
    "BUN_INSTALL",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "JAVA_HOME",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "USERPROFILE",
    "USERNAME",
    "HOMEDRIVE",
    "HOMEPATH",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
];

/// Families of such variables, by the beginning of their names.
const SAFE_FAMILIES: &[&str] = &["LC_", "XDG_"];

/// Whether a variable of this name holds no secret as a rule.
pub(super) fn is_safe_variable(name: &str) -> bool {
    SAFE_VARIABLES.contains(&name)
        || SAFE_FAMILIES.iter().any(|family| name.starts_with(family))
        || cfg!(windows) && SAFE_VARIABLES.contains(&name.to_ascii_uppercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::in_url;

    #[test]
    fn a_password_is_known_in_each_of_its_forms() {
        let url = "https://u:pass@h/s/a8f5f167f44f4964e6c998dee827110c?api_key=x&a=1";
        let random = "a8f5f167f44f4964e6c998dee827110c";
        assert_eq!(in_url(url), ["u:pass", random, "x", "pass", "dTpwYXNz"]);
    }
}
