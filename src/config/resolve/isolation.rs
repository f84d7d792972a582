//! Makes the container of a stdio server from its entry and `docker_isolation`, with a default image for well-known commands.

use crate::{
    config::{
        ConfigFinding, Isolation, Named, Stdio, Transport, Warning, container_options,
        finding::Checked,
        isolation::{is_name_for_containers, program_name},
        raw::{RawDefaults, RawIsolation},
        references::{self, Resolution, Text},
        values::Word,
    },
    text::redact::{self, TextKind, redacted},
};

/// The values of `docker_isolation`, a key of mcpproxy-go: the defaults of all stdio servers.
#[derive(Clone, Default)]
pub(super) struct ContainerDefaults {
    /// Whether servers run in containers if their entries do not say.
    enabled: bool,
    /// Images by command; they override [`IMAGES`].
    images: Vec<(String, Word)>,
    network_mode: Option<Text>,
    extra_args: Vec<Text>,
}

/// The default images by command. Each image has the command, and a tag that fixes the version.
const IMAGES: &[(&str, &str)] = &[
    ("npx", "node:20"),
    ("npm", "node:20"),
    ("node", "node:20"),
    ("yarn", "node:20"),
    ("uvx", "ghcr.io/astral-sh/uv:python3.12-bookworm-slim"),
    ("uv", "ghcr.io/astral-sh/uv:python3.12-bookworm-slim"),
    ("python", "python:3.12"),
    ("python3", "python:3.12"),
    ("pip", "python:3.12"),
    ("bun", "oven/bun:1"),
    ("bunx", "oven/bun:1"),
    ("deno", "denoland/deno:2.1.4"),
    ("go", "golang:1.23"),
    ("cargo", "rust:1"),
    ("ruby", "ruby:3.3"),
    ("gem", "ruby:3.3"),
    ("php", "php:8.3-cli"),
    ("sh", "alpine:3"),
    ("bash", "bash:5"),
];

/// Commands that run a container themselves.
const RUNTIMES: &[&str] = &["docker", "podman", "nerdctl"];

/// Reads `docker_isolation`.
pub(super) fn defaults(raw: RawDefaults) -> Checked<ContainerDefaults> {
    let mut extra_args = texts(raw.extra_args);
    refuse_options("docker_isolation.extra_args", &extra_args, Resolution::Done)?;
    for (option, limit) in [("--memory", raw.memory_limit), ("--cpus", raw.cpu_limit)] {
        if let Some(limit) = limit {
            extra_args.extend([references::literal(option), limit]);
        }
    }
    Ok(ContainerDefaults {
        enabled: raw.enabled,
        images: raw.default_images.0,
        network_mode: raw.network_mode,
        extra_args,
    })
}

/// Puts the server into a container if `isolation` or the default says so.
pub(super) fn isolate_if_wanted(
    raw: RawIsolation,
    transport: &mut Transport,
    defaults: &ContainerDefaults,
    resolution: Resolution,
    warnings: &mut Vec<Warning>,
) -> Checked {
    let stdio = match transport {
        Transport::Stdio(stdio) => stdio,
        Transport::Remote(_) => {
            if raw.enabled == Some(true) {
                warnings.push(Warning::of_key(
                    "isolation",
                    "has no effect on a remote server",
                ));
            }
            return Ok(());
        }
    };
    let runs_containers = RUNTIMES.contains(&program_name(&stdio.command));
    // The default does not apply to a command that runs a container itself.
    let by_default = defaults.enabled && !runs_containers;
    if !raw.enabled.unwrap_or(raw.says_something() || by_default) {
        return Ok(());
    }
    if runs_containers {
        let problem = format_args!(
            "cannot be on: the command {:?} runs a container itself",
            program_name(&stdio.command)
        );
        return Err(ConfigFinding::new("isolation.enabled", problem));
    }
    isolate(raw, stdio, defaults, resolution, warnings)
}

impl RawIsolation {
    /// Whether it has a key other than `enabled`.
    fn says_something(&self) -> bool {
        let texts = [&self.image, &self.network_mode, &self.working_dir];
        let logs = [&self.log_driver, &self.log_max_size, &self.log_max_files];
        texts.iter().any(|text| text.is_some())
            || logs.iter().any(|word| word.is_some())
            || self.extra_args.is_some()
    }
}

fn isolate(
    raw: RawIsolation,
    stdio: &mut Stdio,
    defaults: &ContainerDefaults,
    resolution: Resolution,
    warnings: &mut Vec<Warning>,
) -> Checked {
    let extra_args = texts(raw.extra_args.unwrap_or_default());
    refuse_options("isolation.extra_args", &extra_args, resolution)?;
    for (key, word) in [
        ("log_driver", raw.log_driver),
        ("log_max_size", raw.log_max_size),
        ("log_max_files", raw.log_max_files),
    ] {
        if word.is_some() {
            let what = "is ignored: what the server writes to standard error is in its log";
            warnings.push(Warning::of_key(format!("isolation.{key}"), what));
        }
    }
    let program = program_name(&stdio.command);
    let named = raw.image.is_some();
    let by_default = || {
        let mut images = defaults.images.iter();
        let found = images.find(|(command, _)| command == program);
        let found = found.map(|(_, image)| image.0.clone());
        let known = || IMAGES.iter().find(|(name, _)| *name == program);
        found.or_else(|| known().map(|(_, image)| references::literal(image)))
    };
    let image = raw.image.or_else(by_default);
    let Some(image) = image.filter(|image| !image.value.starts_with('-')) else {
        let problem = if named {
            "is not the name of an image".to_owned()
        } else {
            let program = redacted(program, TextKind::Word);
            format!("is needed: mcpproxy has no image for the command {program:?}")
        };
        return Err(ConfigFinding::new("isolation.image", problem));
    };
    // In a default image, the program is found by its name: its path on this machine does not exist there.
    let within = |command: &str| {
        if named {
            command.to_owned()
        } else {
            program_name(command).to_owned()
        }
    };
    let network_mode = raw.network_mode.or_else(|| defaults.network_mode.clone());
    let working_dir = raw.working_dir;
    let extra: Vec<Text> = [defaults.extra_args.clone(), extra_args].concat();
    let of = |part: fn(&Text) -> String, command: &str| Isolation {
        image: part(&image),
        command: within(command),
        network_mode: network_mode.as_ref().map(part),
        extra_args: extra.iter().map(part).collect(),
        working_dir: working_dir.as_ref().map(part),
    };
    let mut shown = of(|text| text.shown.clone(), &stdio.shown_command);
    shown.extra_args = redact::redacted_arguments(&shown.extra_args);
    let command = stdio.written_line.first().map_or("", String::as_str);
    let as_written = of(|text| text.written.clone(), command);
    let isolation = of(|text| text.value.clone(), &stdio.command);
    let mut parts = isolation
        .run_arguments(&Named::default(), &[], &[])
        .into_iter();
    if parts.any(|part| part.contains('\0')) {
        return Err(ConfigFinding::new("isolation", "contains a NUL character"));
    }
    if stdio.cwd.take().is_some() {
        stdio.shown_cwd = None;
        let what = "has no effect on a server in a container, which cannot see this machine's folders; `isolation.working_dir` sets the folder there";
        warnings.push(Warning::of_key("cwd", what));
    }
    check_variables(stdio)?;
    stdio.isolation = Some(isolation);
    stdio.shown_isolation = Some(shown);
    stdio.written_isolation = Some(Box::new(as_written));
    Ok(())
}

fn texts(words: Vec<Word>) -> Vec<Text> {
    words.into_iter().map(|word| word.0).collect()
}

fn refuse_options(key: &str, extra_args: &[Text], resolution: Resolution) -> Checked {
    let checked = container_options::check_options(extra_args, resolution);
    checked.map_err(|problem| ConfigFinding::new(key, problem))
}

/// Refuses variables whose names `docker run -e` cannot pass.
fn check_variables(stdio: &Stdio) -> Checked {
    let mut names = stdio.env.keys();
    match names.find(|name| !is_name_for_containers(name)) {
        None => Ok(()),
        Some(name) => {
            let problem = "cannot be passed to a container: names there consist of letters, digits and `_`, and do not begin with a digit";
            Err(ConfigFinding::new(
                format!("env.{}", name.escape_debug()),
                problem,
            ))
        }
    }
}
