//! Secrets by name, kept by the platform: the Secret Service on Linux, the keychain on macOS, and where neither is there a private file in
//! the data folder. The only door to them.
//!
//! Everything here blocks, with a deadline. What refers to secrets is the configuration's.

mod error;
mod file;
#[cfg(target_os = "macos")]
mod keychain;
mod lookup;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod no_platform;
mod question;
#[cfg(target_os = "linux")]
mod secret_service;
mod stores;
#[cfg(test)]
mod tests;

pub use self::{
    error::KeyringError,
    lookup::{folder_of, lookup},
    stores::{Keyring, LONGEST_VALUE, SecretStore, StoredSecrets},
};
