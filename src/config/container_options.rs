//! Checks the options of `docker run` in `extra_args`. Each word must be an option or its value, and no option may change what mcpproxy
//! sets: it names and labels the container, and is attached to it. Pure.

use super::references::{Resolution, Text};
use crate::text::redact::{TextKind, redacted};

/// The options of docker and podman without a value. All others have one.
const SWITCHES: &str = "\
    --detach --disable-content-trust --env-host --help --http-proxy --init --interactive --no-healthcheck \
    --no-hostname --no-hosts --oom-kill-disable --passwd --privileged --publish-all --quiet --read-only \
    --read-only-tmpfs --replace --rm --rmi --rootfs --sig-proxy --tls-verify --tty --unsetenv-all --use-api-socket";

/// The same as single letters.
const SHORT_SWITCHES: &[char] = &['d', 'i', 'P', 'q', 't'];

/// Options that are refused with any value.
const REFUSED: &[&str] = &[
    "--detach",
    "--help",
    "--label-file",
    "--name",
    "--replace",
    "--rootfs",
    "--tty",
];

/// The same as single letters.
const SHORT_REFUSED: &[char] = &['d', 't'];

/// Switches that mcpproxy sets: they may be repeated, but not turned off.
const OURS: &[&str] = &["--interactive", "--rm"];

/// How the labels begin by which mcpproxy finds its containers again.
const OUR_LABELS: &str = "mcpproxy.";

/// Says what is wrong with these arguments, if anything. If references are not resolved, the check ends at the first one, whose value is not
/// known.
pub(super) fn check_options(words: &[Text], resolution: Resolution) -> Result<(), String> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !resolution.is_done() && word.value.contains("${") {
            return Ok(());
        }
        let option = read(word)?;
        let mut value = option.value;
        if value.is_none() && option.takes_value {
            let next = words.next().ok_or_else(|| {
                let shown = redacted(&word.shown, TextKind::Word);
                format!("ends with the option {shown:?} without its value: the image would be taken for the value")
            })?;
            value = Some(&next.value);
        }
        let is_label = matches!(option.name.as_str(), "--label" | "-l");
        if is_label && value.is_some_and(|value| value.trim_start().starts_with(OUR_LABELS)) {
            return Err(ours(&format!("{} {OUR_LABELS}…", option.name)));
        }
    }
    Ok(())
}

/// Whether the word behind this one is its value: of `-e`, not of `-it`, `-eA=1` or `--env=A=1`.
pub fn is_followed_by_value(option: &str) -> bool {
    if option.starts_with("--") {
        return !option.contains('=') && !is_switch(option);
    }
    let mut letters = option.chars().skip(1);
    let has_value = letters.any(|letter| !SHORT_SWITCHES.contains(&letter));
    has_value && letters.next().is_none()
}

fn is_switch(name: &str) -> bool {
    SWITCHES.split(' ').any(|switch| switch == name)
}

/// A word that begins an option.
struct Read<'a> {
    name: String,
    value: Option<&'a str>,
    takes_value: bool,
}

/// The fault of an option that would change what mcpproxy sets.
fn ours(option: &str) -> String {
    format!(
        "must not contain {option:?}: mcpproxy itself names, marks and attaches to the container"
    )
}

fn read(text: &Text) -> Result<Read<'_>, String> {
    let word = &text.value;
    if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let name = format!("--{name}");
        let is_turned = OURS.contains(&name.as_str()) && value.is_some();
        if REFUSED.contains(&name.as_str()) || is_turned {
            return Err(ours(&name));
        }
        let takes_value = !is_switch(&name);
        return Ok(Read {
            name,
            value,
            takes_value,
        });
    }
    let letters = word.strip_prefix('-').unwrap_or_default();
    if letters.is_empty() || letters.starts_with('-') {
        let shown = redacted(&text.shown, TextKind::Word);
        return Err(format!(
            "has {shown:?} where an option of `docker run` is expected: it would be taken for the image"
        ));
    }
    for (at, letter) in letters.char_indices() {
        let rest = letters.get(at + letter.len_utf8()..).unwrap_or_default();
        if SHORT_REFUSED.contains(&letter) || letter == 'i' && rest.starts_with('=') {
            return Err(ours(word.split('=').next().unwrap_or_default()));
        }
        let value = rest.strip_prefix('=').unwrap_or(rest);
        let is_switch = SHORT_SWITCHES.contains(&letter);
        if !is_switch || rest.starts_with('=') {
            return Ok(Read {
                name: format!("-{letter}"),
                value: (!value.is_empty()).then_some(value),
                takes_value: !is_switch,
            });
        }
    }
    Ok(Read {
        name: word.to_owned(),
        value: None,
        takes_value: false,
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::references::{Resolution, literal},
        check_options,
    };

    #[test]
    fn a_container_stays_ours_and_its_image_is_the_one_that_was_named() {
        let check = |words: &[&str], expected: Option<&str>| {
            let words: Vec<_> = words.iter().map(|word| literal(word)).collect();
            let found = check_options(&words, Resolution::Done).err();
            match expected {
                None => assert_eq!(found, None),
                Some(expected) => {
                    assert!(
                        found
                            .as_deref()
                            .is_some_and(|found| found.contains(expected)),
                        "{found:?}"
                    );
                }
            }
        };
        for fine in [
            &["-v", "/data:/data:ro", "--memory", "1g"][..],
            &["--read-only", "--init", "--memory=1g", "-e", "A=b", "-eA=b"],
            &["--rm", "-i", "-P", "--interactive", "-u", "1000:1000"],
            &["--label", "mine=1", "-l", "a=b", "--network", "none"],
            &["--entrypoint", "", "--tmpfs", "/tmp", "-h", "a-host"],
            &[],
        ] {
            check(fine, None);
        }
        for (words, expected) in [
            (&["-dit"][..], "\"-dit\""),
            (&["-id"], "\"-id\""),
            (&["-it"], "\"-it\""),
            (&["-d=true"], "\"-d\""),
            (&["-i=false"], "\"-i\""),
            (&["--detach=true"], "\"--detach\""),
            (&["--tty"], "\"--tty\""),
            (&["--name=x"], "\"--name\""),
            (&["--rm=false"], "\"--rm\""),
            (&["--interactive=false"], "\"--interactive\""),
            (&["--label", "mcpproxy.child=1"], "--label mcpproxy."),
            (&["--label=mcpproxy.child=1"], "--label mcpproxy."),
            (&["-lmcpproxy.child=1"], "-l mcpproxy."),
            (&["--label-file", "/x"], "--label-file"),
            (&["evil/image"], "\"evil/image\""),
            (&["--read-only", "evil/image"], "taken for the image"),
            (&["--read-only", ""], "taken for the image"),
            (&["--"], "taken for the image"),
            (&["-"], "taken for the image"),
            (&["-v"], "without its value"),
            (&["--memory"], "without its value"),
        ] {
            check(words, Some(expected));
        }
        let unresolved = [literal("${ARG}"), literal("x")];
        assert_eq!(check_options(&unresolved, Resolution::Omitted), Ok(()));
        assert!(check_options(&unresolved, Resolution::Done).is_err());
    }
}
