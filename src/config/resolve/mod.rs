//! Reads the text of a configuration file into [`Settings`]. Pure: variables come through a lookup, no file is read.

mod entry;
mod entry_fault;
mod idle_timeout;
mod isolation;
mod oauth;
mod roots;
mod settings;
mod transport;
mod used_values;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use jsonc_parser::{ast, common::Ranged};
use serde_json::Value;

pub(super) use self::entry::read_alone;
use self::{
    entry::{Context, WrittenEntry, read_entry},
    isolation::ContainerDefaults,
    settings::{check_top_level, read_mcp_timeout},
    used_values::UsedValues,
};
pub use self::{
    entry_fault::{EntryFault, entry_fault, is_entry_key},
    transport::is_set_for_each_request,
};
use super::{
    BrokenEntry, ConfigError, ConfigFinding, Document, KeyringLookup, KeyringPlace, LineColumn,
    NoSecret, ServerEntry, Settings, Surroundings, Warning,
    document::{self, SERVERS, WrittenServer},
    finding::without_credentials,
    guards,
    raw::{File, RawPlace},
    references::{Resolution, ValueLookup},
    secret_uses,
    spanned::{self, ReadValue},
    unknown_callers::unknown_callers,
    warnings::warnings,
};
use crate::text::{Secrets, ServerName};

/// Reads a configuration. An empty text is an empty configuration.
pub fn parse(text: &str, surroundings: &Surroundings<'_>) -> Result<Settings, ConfigError> {
    parse_document(&document::read(text)?, surroundings)
}

/// [`parse`] for a document.
pub(super) fn parse_document(
    document: &Document<'_>,
    surroundings: &Surroundings<'_>,
) -> Result<Settings, ConfigError> {
    let nowhere: KeyringLookup = Arc::new(|_, _| BTreeMap::new());
    parse_with_secrets(document, surroundings, &nowhere)
}

/// [`parse`] with a lookup of secrets. Its errors and warnings do not contain the values of references.
pub(super) fn parse_with_secrets(
    document: &Document<'_>,
    surroundings: &Surroundings<'_>,
    keyring: &KeyringLookup,
) -> Result<Settings, ConfigError> {
    let used = UsedValues::default();
    let variables = ValueLookup::to_variables(surroundings.lookup);
    let read = used.noting(variables, |lookup| {
        let surroundings = Surroundings {
            lookup: lookup.variables,
            ..*surroundings
        };
        read_settings(document, &surroundings, keyring, &used)
    });
    let secrets = Secrets::new(used.take_hidden());
    match read {
        Ok(settings) => Ok(without_secrets(settings, &secrets)),
        Err(error) => Err(error.without_secrets(&secrets)),
    }
}

/// Masks secrets, and what looks like one, in the warnings and the reasons of broken entries.
fn without_secrets(mut settings: Settings, secrets: &Secrets) -> Settings {
    let secrets = Secrets::all([secrets, &settings.secrets()]);
    let mask = |text: &mut String| {
        *text = without_credentials(&secrets.redacted(text));
    };
    let warnings = settings.warnings.iter_mut();
    warnings.for_each(|warning| warning.mask(mask));
    let unknown = settings.unknown_callers.iter_mut();
    unknown.for_each(|caller| caller.warning.mask(mask));
    for broken in &mut settings.broken {
        mask(&mut broken.reason);
        let findings = std::mem::take(&mut broken.findings).into_iter();
        broken.findings = findings.map(|one| one.without_secrets(&secrets)).collect();
    }
    settings
}

/// Looks up the secrets, then reads the top level, then the entries. Errors and warnings may contain secrets; `used` has them.
fn read_settings(
    document: &Document<'_>,
    surroundings: &Surroundings<'_>,
    keyring: &KeyringLookup,
    used: &UsedValues,
) -> Result<Settings, ConfigError> {
    let wanted = secret_uses::wanted(document);
    let values = if wanted.is_empty() {
        BTreeMap::new()
    } else {
        keyring(&keyring_place(document, surroundings)?, &wanted)
    };
    used.hide(values.values().flatten());
    let secrets = |name: &str| {
        let value = values.get(name).cloned();
        value.unwrap_or(Err(NoSecret::NotHere))
    };
    let lookup = ValueLookup {
        variables: surroundings.lookup,
        secrets: &secrets,
    };
    let of_settings = UsedValues::default();
    let top_level = of_settings.noting(lookup, |lookup| read_top_level(document, lookup))?;
    let mut settings = Settings::of(top_level.file, surroundings);
    settings.lacks_secrets = values.values().any(Result::is_err);
    let ignored = top_level.ignored.iter().map(guards::ignored);
    let repeated = repeated_keys(document).into_iter();
    settings.warnings.splice(..0, repeated.chain(ignored));
    let init_timeout = read_mcp_timeout(surroundings.lookup, &mut settings.warnings);
    let context = Context {
        surroundings,
        secrets: &secrets,
        secrets_of_settings: &of_settings.take_secrets(),
        environment: &settings.environment.clone(),
        init_timeout,
        containers: top_level.containers,
    };
    read_servers(document, &context, &mut settings);
    let warnings = warnings(&settings);
    settings.warnings.extend(warnings);
    let unknown = settings.server_auth.as_deref().map(unknown_callers);
    settings.unknown_callers = unknown.unwrap_or_default();
    Ok(settings)
}

/// One warning of each key that appears more than once in an object.
fn repeated_keys(document: &Document<'_>) -> Vec<Warning> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (path, _) in &document.repeated {
        *counts.entry(path).or_insert(1) += 1;
    }
    let backwards = document.repeated.iter().rev();
    let mut warnings: Vec<Warning> = backwards
        .filter_map(|(path, at)| {
            let times = match counts.remove(path.as_str())? {
                2 => "twice".to_owned(),
                more => format!("{more} times"),
            };
            let LineColumn { line, .. } = LineColumn::of_byte(document.text, *at);
            let what = format!("appears {times}; the last one, in line {line}, counts");
            Some(Warning::of_key(path, what))
        })
        .collect();
    warnings.reverse();
    warnings
}

/// Everything but the servers.
struct TopLevel {
    file: File,
    containers: ContainerDefaults,
    /// Unknown keys.
    ignored: Vec<ConfigFinding>,
}

fn read_top_level(
    document: &Document<'_>,
    lookup: ValueLookup<'_>,
) -> Result<TopLevel, ConfigError> {
    let ReadValue { read, ignored } = match &document.root {
        Some(root) => spanned::read::<File>(root, Some(lookup)),
        None => ReadValue {
            read: Ok(File::default()),
            ignored: Vec::new(),
        },
    };
    let mut findings = guards::findings(document);
    let mut file = read
        .map_err(|mut faults| findings.append(&mut faults))
        .unwrap_or_default();
    let containers = isolation::defaults(std::mem::take(&mut file.docker_isolation));
    let containers = containers.map_err(|fault| findings.push(fault));
    findings.extend(check_top_level(&file, lookup.variables));
    if findings.is_empty() {
        return Ok(TopLevel {
            file,
            containers: containers.unwrap_or_default(),
            ignored,
        });
    }
    let findings = findings.into_iter();
    let findings = findings.map(|one| located(one, document.members()));
    Err(ConfigError::of(findings.collect(), document.text))
}

/// The error without missing variables and secrets, which another process may have; nothing if that was all.
pub(super) fn file_fault(error: ConfigError) -> Option<ConfigError> {
    match error {
        ConfigError::Findings(mut findings) => {
            findings.retain(|finding| !finding.lacks_value());
            (!findings.is_empty()).then_some(ConfigError::Findings(findings))
        }
        syntax @ ConfigError::Syntax { .. } => Some(syntax),
    }
}

/// Adds the place of its key to a finding without one.
fn located(finding: ConfigFinding, members: &[ast::ObjectProp<'_>]) -> ConfigFinding {
    let key = finding.key.split(['.', '[']).next();
    let mut members = members.iter().rev();
    let member = members.find(|member| Some(member.name.as_str()) == key);
    ConfigFinding {
        at: finding.at.or(member.map(Ranged::start)),
        ..finding
    }
}

/// Where the file says that secrets are kept. Read before the rest, which may contain secrets; so the place itself cannot be a secret.
pub(super) fn keyring_place(
    document: &Document<'_>,
    surroundings: &Surroundings<'_>,
) -> Result<KeyringPlace, ConfigError> {
    let lookup = ValueLookup::to_variables(surroundings.lookup);
    let Some(root) = &document.root else {
        return Ok(KeyringPlace::default());
    };
    let read = spanned::read::<RawPlace>(root, Some(lookup)).read;
    let raw = read.map_err(|faults| ConfigError::of(faults, document.text))?;
    Ok(KeyringPlace {
        choice: raw.keyring,
        data_dir: raw
            .data_dir
            .map(|written| surroundings.path(&written.value)),
    })
}

fn read_servers(document: &Document<'_>, context: &Context<'_>, settings: &mut Settings) {
    let mut taken: HashMap<String, &str> = HashMap::new();
    for (index, (written, value)) in document.servers_in_tree().enumerate() {
        let read = read_server(written, value, context, &mut taken);
        let read = match guards::repeated_guard(&written.repeated) {
            Some(twice) => read.and(Err(BrokenEntry::of(vec![twice]))),
            None => read,
        };
        match read {
            Ok((entry, warnings)) => {
                let warnings = warnings.into_iter();
                let warnings = warnings.map(|warning| warning.of_server(&entry.name));
                settings.warnings.extend(warnings);
                settings.servers.insert(entry.name.clone(), Arc::new(entry));
            }
            Err(broken) => settings.broken.push(BrokenEntry {
                findings: placed(&broken.findings, value, document.text),
                name: written
                    .name
                    .clone()
                    .unwrap_or_else(|| format!("{SERVERS}[{index}]")),
                quarantined: written.entry.get("quarantined") == Some(&Value::Bool(true)),
                ..broken
            }),
        }
    }
}

/// Adds their places in the text to findings of an entry.
fn placed(findings: &[ConfigFinding], entry: &ast::Value<'_>, text: &str) -> Vec<ConfigFinding> {
    let members = match entry {
        ast::Value::Object(entry) => &entry.properties[..],
        _ => &[],
    };
    let findings = findings.iter().cloned();
    findings
        .map(|one| located(one, members).placed(text))
        .collect()
}

fn read_server<'d>(
    written: &'d WrittenServer,
    value: &ast::Value<'_>,
    context: &Context<'_>,
    taken_by_lower_case: &mut HashMap<String, &'d str>,
) -> Result<(ServerEntry, Vec<Warning>), BrokenEntry> {
    let broken = |reason: &str| BrokenEntry::new(reason.to_owned());
    let written_name = written.name.as_deref();
    let written_name = written_name.ok_or_else(|| match written.entry {
        Value::Object(_) => broken("the entry has no `name`"),
        _ => broken("the entry must be an object"),
    })?;
    let name = ServerName::parse(written_name).map_err(|error| broken(&error.to_string()))?;
    let first = taken_by_lower_case.entry(written_name.to_lowercase());
    if let std::collections::hash_map::Entry::Occupied(first) = first {
        let first = *first.get();
        return Err(broken(&if first == written_name {
            "another entry has the same name; rename one".to_owned()
        } else {
            format!("another entry has the same name, {first:?}, ignoring case; rename one")
        }));
    }
    first.insert_entry(written_name);
    let Value::Object(members) = &written.entry else {
        return Err(broken("the entry must be an object"));
    };
    let entry = WrittenEntry {
        name: &name,
        members,
        tree: value,
    };
    read_entry(entry, context, Resolution::Done).map_err(|findings| {
        let unresolved = read_entry(entry, context, Resolution::Omitted).ok();
        BrokenEntry {
            unresolved: unresolved.map(|(entry, _)| Arc::new(entry)),
            ..BrokenEntry::of(findings)
        }
    })
}
