//! The configuration file as it is written, for an operator to see.

use std::{fs, io, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Management, OverFiles};
use crate::{
    config,
    failure::error_code::{ErrorCode, Failure},
};

/// The configuration file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WrittenConfig {
    /// Where it is.
    pub config_file: PathBuf,
    /// Whether there is one.
    pub exists: bool,
    /// What it says: references by name, everything secret as `***`; `mcpServers` by name.
    pub settings: Value,
}

impl Management<OverFiles> {
    /// The file as it stands. Blocks.
    pub fn written_config(&self) -> Result<WrittenConfig, Failure> {
        let file = self.config_file();
        let unusable = |why: String| {
            let hint = "`mcpproxy config check` shows the mistake.";
            Failure::new(ErrorCode::ConfigUnusable, why, hint)
        };
        let (text, exists) = match fs::read_to_string(file) {
            Ok(text) => (text, true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (String::new(), false),
            Err(error) => return Err(unusable(error.to_string())),
        };
        let settings = config::shown_file(&text);
        Ok(WrittenConfig {
            config_file: file.to_owned(),
            exists,
            settings: settings.map_err(|error| unusable(error.to_string()))?,
        })
    }
}
