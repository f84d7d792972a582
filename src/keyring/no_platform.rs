//! The keyring of other platforms, which this version does not support: every call fails.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use super::error::KeyringError;
use crate::{config::Variables, text::secret::Secret};

#[derive(Clone)]
pub(super) struct NoPlatform;

impl NoPlatform {
    pub(super) fn new(_: &Variables) -> Self {
        Self
    }

    pub(super) fn values(
        &self,
        _: &BTreeSet<String>,
        _: Instant,
    ) -> Result<BTreeMap<String, Secret>, KeyringError> {
        Err(absent())
    }

    pub(super) fn set(&self, _: &str, _: &Secret, _: Instant) -> Result<(), KeyringError> {
        Err(absent())
    }

    pub(super) fn remove(&self, _: &str, _: Instant) -> Result<bool, KeyringError> {
        Err(absent())
    }

    pub(super) fn names(&self, _: Instant) -> Result<Vec<String>, KeyringError> {
        Err(absent())
    }
}

fn absent() -> KeyringError {
    KeyringError::Absent("mcpproxy supports no keyring on this system".to_owned())
}
