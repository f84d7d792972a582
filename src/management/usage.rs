//! What was used, from the activity log, beside what definitions would have taken.

use super::{Backing, Management, gated::tool_refusal};
use crate::{
    activity::{UsageQuery, UsageReport},
    failure::Result,
};

impl<B: Backing> Management<B> {
    /// What the calls of some days add up to.
    pub async fn usage(&self, query: UsageQuery) -> Result<UsageReport> {
        let mut usage = self
            .read_activity(move |reader| reader.usage(query))
            .await?;
        let bytes = self.definition_bytes()?;
        usage.definitions = usage.definitions.of_definitions(bytes);
        Ok(usage)
    }

    /// The bytes of the definitions of all tools that clients may call.
    fn definition_bytes(&self) -> Result<u64> {
        let settings = self.settings()?;
        let lists = self.lists(&settings);
        let tools = lists.servers.values().flat_map(|known| {
            let server = known.server.as_str();
            known.tools.iter().map(move |tool| (server, tool))
        });
        let callable = tools
            .filter(|(server, tool)| tool_refusal(&settings, &lists, server, &tool.name).is_none());
        let bytes: usize = callable
            .map(|(_, tool)| tool.definition.as_bytes().len())
            .sum();
        Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}
