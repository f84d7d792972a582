//! Tasks of many servers under one roof (tasks extension of revision 2026-07-28): which server a task belongs to. A client that calls
//! one server directly needs none of this.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::Router;
use crate::{
    access::Caller,
    call_context::CallContext,
    catalog::ServerCatalog,
    names::ServerName,
    wire::{Raw, RpcError, presentation::TASKS_EXTENSION, result_type},
};

/// Limit: tasks that are remembered. The oldest are forgotten; their clients can no longer ask for them here.
const REMEMBERED: usize = 10_000;

/// The tasks that servers gave to clients of the aggregated endpoints.
#[derive(Default)]
pub(super) struct Tasks(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// No server where several gave the same id: whose task a client means cannot be told.
    by_id: HashMap<Box<str>, (Option<ServerName>, Caller)>,
    in_order: VecDeque<Box<str>>,
}

impl Tasks {
    fn remember(&self, id: &str, server: &ServerName, caller: &Caller) {
        let mut known = self.lock();
        if let Some((owner, of)) = known.by_id.get_mut(id) {
            *owner = owner.take().filter(|owner| owner == server);
            *of = caller.clone();
            return;
        }
        let owner = (Some(server.clone()), caller.clone());
        known.by_id.insert(id.into(), owner);
        known.in_order.push_back(id.into());
        if known.in_order.len() > REMEMBERED
            && let Some(oldest) = known.in_order.pop_front()
        {
            known.by_id.remove(&oldest);
        }
    }

    /// The server of a task of this caller.
    fn server_of(&self, id: &str, caller: &Caller) -> Option<ServerName> {
        let known = self.lock();
        let (server, owner) = known.by_id.get(id)?;
        server.clone().filter(|_| owner == caller)
    }

    /// The data is whole between statements, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Router {
    /// Notes whose task a result is, if it is one.
    pub(super) fn note_task(&self, context: &CallContext, server: &ServerName, result: &Raw) {
        if result_type::of(result).as_deref() == Some(result_type::TASK)
            && let Some(id) = result.get("taskId").and_then(|id| id.string())
        {
            self.0.tasks.remember(&id, server, &context.caller);
        }
    }

    /// Whether a server that clients can call gives tasks.
    pub(super) fn some_server_has_tasks(&self) -> bool {
        let now = self.0.gate.now();
        let gives = |known: &ServerCatalog| {
            let extensions = known.capabilities().get("extensions");
            extensions.is_some_and(|all| all.get(TASKS_EXTENSION).is_some())
                && known.listing.revision.has_task_results()
        };
        let mut servers = now.snapshot().servers.iter();
        servers.any(|(name, known)| gives(known) && now.rules().is_usable(name.as_str()))
    }

    /// The server whose task it is.
    pub(super) fn server_of_task(
        &self,
        context: &CallContext,
        id: &str,
    ) -> Result<ServerName, RpcError> {
        let server = self.0.tasks.server_of(id, &context.caller);
        server.ok_or_else(|| RpcError::invalid_params(format!("Unknown task: {id:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten() {
        let (tasks, caller) = (Tasks::default(), Caller::named("a"));
        let server = ServerName::parse("s").expect("a name");
        for n in 0..=REMEMBERED {
            tasks.remember(&n.to_string(), &server, &caller);
        }
        assert_eq!(tasks.server_of("0", &caller), None);
        assert_eq!(tasks.server_of("1", &caller), Some(server));
        assert_eq!(tasks.server_of("1", &Caller::named("b")), None, "another's");
    }

    #[test]
    fn an_id_of_two_servers_leads_to_neither() {
        let (tasks, caller) = (Tasks::default(), Caller::named("a"));
        let [a, b] = ["a", "b"].map(|name| ServerName::parse(name).expect("a name"));
        tasks.remember("1", &a, &caller);
        tasks.remember("1", &a, &caller);
        assert_eq!(tasks.server_of("1", &caller), Some(a.clone()));
        tasks.remember("1", &b, &caller);
        assert_eq!(tasks.server_of("1", &caller), None);
        tasks.remember("1", &a, &caller);
        assert_eq!(tasks.server_of("1", &caller), None, "still");
    }
}
