//! Stores secrets by name: in the platform's keyring, which is the Secret Service on Linux and the keychain on macOS, or in a private file
//! in the data folder.
//!
//! Everything here blocks, with a deadline. The room `config` knows which settings refer to secrets.

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
