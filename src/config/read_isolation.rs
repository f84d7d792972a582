//! What an entry and `docker_isolation` say about containers, and the image where none is named.

use std::collections::BTreeMap;

use serde_json::Map;

use super::{
    container_options,
    fields::{BadField, ObjectFields},
    isolation::{Isolation, Named, is_name_for_containers, program_name},
    references::Text,
    server_entry::{Stdio, Transport},
    unknown_keys,
};
use crate::text::redact::{self, TextKind, redacted};

/// What `docker_isolation`, the Go program's key, says for all stdio servers.
#[derive(Clone, Default)]
pub(super) struct ContainerDefaults {
    /// Whether servers run in containers whose entries say nothing about it.
    enabled: bool,
    /// Images by command, before ours.
    images: BTreeMap<String, Text>,
    network_mode: Option<Text>,
    extra_args: Vec<Text>,
}

/// The image for a command where none is named. Each has the command in it; a tag says the version that it stays with.
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

/// Programs that run containers themselves.
const RUNTIMES: &[&str] = &["docker", "podman", "nerdctl"];

/// Keys of `isolation`.
const KEYS: &[&str] = &[
    "enabled",
    "image",
    "network_mode",
    "extra_args",
    "working_dir",
];

/// Keys of the Go program about the container's log, which is the server's standard error here.
const LOG_KEYS: &[&str] = &["log_driver", "log_max_size", "log_max_files"];

/// Reads `docker_isolation`.
pub(super) fn read_defaults(
    fields: &mut ObjectFields<'_>,
    warnings: &mut Vec<String>,
) -> Result<ContainerDefaults, BadField> {
    let Some(mut written) = fields.object("docker_isolation")? else {
        return Ok(ContainerDefaults::default());
    };
    let images = written.named_texts("default_images")?;
    let mut defaults = ContainerDefaults {
        enabled: written.flag("enabled")?.unwrap_or(false),
        images: images.into_iter().collect(),
        network_mode: written.text("network_mode")?,
        extra_args: written.texts("extra_args")?.unwrap_or_default(),
    };
    refuse_options(&written, &defaults.extra_args)?;
    for (key, option) in [("memory_limit", "--memory"), ("cpu_limit", "--cpus")] {
        if let Some(limit) = written.text(key)? {
            let literal = super::references::literal(option);
            defaults.extra_args.extend([literal, limit]);
        }
    }
    let known = [
        "enabled",
        "default_images",
        "network_mode",
        "extra_args",
        "memory_limit",
        "cpu_limit",
    ];
    warnings.extend(written.unknown(&known));
    Ok(defaults)
}

/// Reads `isolation` and makes the server one of a container where it, or the default, says so.
pub(super) fn read(
    fields: &mut ObjectFields<'_>,
    transport: &mut Transport,
    defaults: &ContainerDefaults,
    warnings: &mut Vec<String>,
) -> Result<(), BadField> {
    let written = fields.object("isolation")?;
    let stdio = match transport {
        Transport::Stdio(stdio) => stdio,
        Transport::Remote(_) => {
            if written.is_some_and(|mut written| matches!(written.flag("enabled"), Ok(Some(true))))
            {
                warnings.push("`isolation` has no effect on a remote server".to_owned());
            }
            return Ok(());
        }
    };
    let runs_containers = RUNTIMES.contains(&program_name(&stdio.command));
    // A command that runs a container is isolated already, as far as a default goes.
    let by_default = defaults.enabled && !runs_containers;
    let Some(mut written) = written else {
        let nothing = || ObjectFields::new(Map::new(), None);
        return if by_default {
            isolate(nothing(), stdio, defaults, warnings)
        } else {
            Ok(())
        };
    };
    let says_something = !written.keys().is_empty();
    let enabled = written.flag("enabled")?;
    if !enabled.unwrap_or(says_something || by_default) {
        return Ok(());
    }
    if runs_containers {
        let problem = format_args!(
            "cannot be on: the command {:?} runs a container itself",
            program_name(&stdio.command)
        );
        return Err(written.bad("enabled", problem));
    }
    isolate(written, stdio, defaults, warnings)
}

fn isolate(
    mut written: ObjectFields<'_>,
    stdio: &mut Stdio,
    defaults: &ContainerDefaults,
    warnings: &mut Vec<String>,
) -> Result<(), BadField> {
    let image = written.text("image")?;
    let network_mode = written.text("network_mode")?;
    let extra_args = written.texts("extra_args")?.unwrap_or_default();
    let working_dir = written.text("working_dir")?;
    refuse_options(&written, &extra_args)?;
    for key in LOG_KEYS {
        if written.value(key).is_some() {
            warnings.push(format!("`isolation.{key}` is ignored: what the server writes to standard error is in its log"));
        }
    }
    if let Some(key) = written.keys().first() {
        return Err(written.bad(key, unknown_keys::refused(key, KEYS)));
    }
    let program = program_name(&stdio.command);
    let named = image.is_some();
    let image = image
        .or_else(|| defaults.images.get(program).cloned())
        .or_else(|| default_image(program).map(super::references::literal));
    let Some(image) = image.filter(|image| !image.value.starts_with('-')) else {
        let problem = format_args!(
            "is needed: there is no image for the command {:?} to fall back on",
            redacted(program, TextKind::Word)
        );
        let place = if named { "image" } else { "isolation.image" };
        return Err(if named {
            written.bad(place, "is no name of an image")
        } else {
            BadField::new(place, problem)
        });
    };
    // The path of a program of this machine means nothing in an image that was chosen by the program's name.
    let within = |command: &str| {
        if named {
            command.to_owned()
        } else {
            program_name(command).to_owned()
        }
    };
    let network_mode = network_mode.or_else(|| defaults.network_mode.clone());
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
        return Err(BadField::new("isolation", "has a NUL character in it"));
    }
    if stdio.cwd.take().is_some() {
        stdio.shown_cwd = None;
        warnings.push("`cwd` has no effect on a server in a container, which sees no folder of this machine; the folder within the container is `isolation.working_dir`".to_owned());
    }
    check_variables(stdio)?;
    stdio.isolation = Some(isolation);
    stdio.shown_isolation = Some(shown);
    stdio.written_isolation = Some(Box::new(as_written));
    Ok(())
}

fn default_image(program: &str) -> Option<&'static str> {
    let found = IMAGES.iter().find(|(name, _)| *name == program);
    found.map(|(_, image)| *image)
}

fn refuse_options(written: &ObjectFields<'_>, extra_args: &[Text]) -> Result<(), BadField> {
    match container_options::fault(extra_args, written.resolves()) {
        None => Ok(()),
        Some(problem) => Err(written.bad("extra_args", problem)),
    }
}

/// Refuses variables that cannot be passed to a container by their names.
fn check_variables(stdio: &Stdio) -> Result<(), BadField> {
    let mut names = stdio.env.keys();
    match names.find(|name| !is_name_for_containers(name)) {
        None => Ok(()),
        Some(name) => {
            let problem = "cannot be passed to a container: only letters, digits and `_`, and no digit first, are in names there";
            Err(BadField::new(
                format!("env.{}", name.escape_debug()),
                problem,
            ))
        }
    }
}
