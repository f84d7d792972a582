//! The credentials in the values of an entry: texts to mask when a server or a library repeats them.

use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::percent_decode_str;

use super::safe_variables::is_safe_variable;
use crate::text::redact::{self, TextKind, is_secret_name};

/// The credentials in the arguments of a command.
pub(super) fn in_arguments(arguments: &[String]) -> Vec<String> {
    let hidden = redact::hidden_in_arguments(arguments).into_iter();
    hidden.map(str::to_owned).collect()
}

/// The credentials in a URL. Of `user:password` also the password alone, and both in the Base64 of a header (RFC 7617).
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

/// The credentials in the value of an environment variable: the whole value, but of a safe variable only what looks like a credential.
pub(super) fn in_variable(name: &str, value: &str) -> Vec<String> {
    if is_safe_variable(name) {
        in_url(value)
    } else {
        vec![value.to_owned()]
    }
}

/// The credentials in a variable that an entry sets: the whole value if its name is that of a secret, else what looks like a credential.
pub(super) fn in_setting(name: &str, value: &str) -> Vec<String> {
    if is_secret_name(name) {
        vec![value.to_owned()]
    } else {
        in_url(value)
    }
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
