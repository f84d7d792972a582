//! Environment variables that stdio servers inherit by default: many programs need them, and they usually contain no secrets.

/// Their names. The value of `PATH` comes from the login shell.
const NAMES: &str = "\
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM TMPDIR TMP TEMP DISPLAY WAYLAND_DISPLAY XAUTHORITY \
    DOCKER_HOST DOCKER_CONTEXT \
    HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy \
    SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE NIX_SSL_CERT_FILE \
    NVM_DIR VOLTA_HOME FNM_DIR ASDF_DIR MISE_DATA_DIR PNPM_HOME BUN_INSTALL CARGO_HOME RUSTUP_HOME GOPATH JAVA_HOME \
    SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES USERPROFILE \
    USERNAME HOMEDRIVE HOMEPATH NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE";

/// Beginnings of names of further safe variables.
const FAMILIES: [&str; 2] = ["LC_", "XDG_"];

/// Whether a variable of this name is safe.
pub(super) fn is_safe_variable(name: &str) -> bool {
    let safe = || NAMES.as_bytes().split(|byte| *byte == b' ');
    let is_one = |name: &str| safe().any(|one| one == name.as_bytes());
    is_one(name)
        || FAMILIES.iter().any(|family| name.starts_with(family))
        || cfg!(windows) && is_one(&name.to_ascii_uppercase())
}
