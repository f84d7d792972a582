//! Tasks of servers, and the clients that own them. A server cannot tell the clients of mcpproxy apart and would give each the tasks of all.
//! Here a task exists for its owner alone, on every endpoint and in both forms (tasks of revision 2025-11-25, tasks extension of revision
//! 2026-07-28).

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use super::{Notifier, Router, Subscription, View};
use crate::{
    access::Caller,
    call_context::CallContext,
    catalog::ServerCatalog,
    failure::Result,
    forward::{EndpointKind, RequestError},
    gate::Admitted,
    runtime::sync::Guarded,
    text::names::ServerName,
    trust::fingerprint::Fingerprint,
    wire::{
        Edit, Notification, Outcome, Raw, RpcError, Target, Thing, method,
        presentation::TASKS_EXTENSION, result_type, splice,
    },
};

/// Takes the member `task` out of a request: endpoints of many servers announce no tasks of revision 2025-11-25, so a call with this member
/// is made as any other (2025-11-25, tasks, "Task Support and Handling").
pub(super) const NOT_AS_A_TASK: (&str, Edit<'static>) = ("task", Edit::Remove);

/// Limit: tasks that are remembered. The oldest are forgotten, and are then unknown to their clients.
const REMEMBERED: usize = 10_000;

/// The tasks that servers gave to clients.
#[derive(Default)]
pub(super) struct Tasks(Guarded<Known>);

#[derive(Default)]
struct Known {
    /// By id, which is unique at one server only.
    by_id: HashMap<Arc<str>, Vec<Task>>,
    in_order: VecDeque<(Arc<str>, ServerName)>,
}

struct Task {
    server: ServerName,
    /// The tool whose call created it, if one did.
    tool: Option<Box<str>>,
    owner: TaskOwner,
}

/// Whose request created a task, and who may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TaskOwner {
    caller: Caller,
    client: OwningClient,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum OwningClient {
    /// The client of this session.
    Session(Arc<str>),
    /// A client without a session, recognized by its description of itself.
    Described(Fingerprint),
}

impl TaskOwner {
    fn of(context: &CallContext) -> Self {
        let session = context.session.as_ref();
        let described = || OwningClient::Described(Fingerprint::of_value(&context.client.info));
        Self {
            caller: context.caller.clone(),
            client: session.map_or_else(described, |session| {
                OwningClient::Session(session.key().clone())
            }),
        }
    }
}

impl Tasks {
    fn remember(&self, id: &str, server: &ServerName, tool: Option<&str>, owner: TaskOwner) {
        let mut known = self.0.lock();
        let id: Arc<str> = id.into();
        let same = known.by_id.entry(id.clone()).or_default();
        let new = Task {
            server: server.clone(),
            tool: tool.map(Into::into),
            owner,
        };
        if let Some(task) = same.iter_mut().find(|task| task.server == *server) {
            *task = new;
            return;
        }
        same.push(new);
        known.in_order.push_back((id, server.clone()));
        if known.in_order.len() > REMEMBERED
            && let Some((oldest, server)) = known.in_order.pop_front()
            && let Some(same) = known.by_id.get_mut(&oldest)
        {
            same.retain(|task| task.server != server);
            if same.is_empty() {
                known.by_id.remove(&oldest);
            }
        }
    }

    /// The server of a task; `None` if this owner has tasks of that id at several servers.
    fn server_of(&self, id: &str, owner: &TaskOwner) -> Option<ServerName> {
        let known = self.0.lock();
        let mut own = known.by_id.get(id)?.iter().filter(|t| t.owner == *owner);
        let only = own.next()?;
        own.next().is_none().then(|| only.server.clone())
    }

    /// The tool whose call created a task of this server.
    pub(super) fn tool_of(&self, id: &str, server: &ServerName) -> Option<Box<str>> {
        let known = self.0.lock();
        let mut same = known.by_id.get(id)?.iter();
        same.find(|task| task.server == *server)?.tool.clone()
    }

    /// Whether a task of this server is this owner's.
    fn is_of(&self, id: &str, server: &ServerName, owner: &TaskOwner) -> bool {
        let known = self.0.lock();
        let same = known.by_id.get(id);
        let mut all = same.into_iter().flatten();
        all.any(|task| task.server == *server && task.owner == *owner)
    }
}

impl Router {
    /// Remembers the owner of the task that a result is, if it is one.
    pub(super) fn note_task(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        params: Option<&Raw>,
        result: &Raw,
    ) {
        if let Some(id) = task_in(context, params, result) {
            let owner = TaskOwner::of(context);
            let tasks = &self.0.tasks;
            tasks.remember(&id, admitted.server(), admitted.tool(), owner);
        }
    }

    /// Checks that the task of a request is its sender's.
    pub(super) fn check_task(
        &self,
        context: &CallContext,
        admitted: &Admitted,
    ) -> Result<(), RpcError> {
        let Thing::Task(id) = admitted.target().thing() else {
            return Ok(());
        };
        let (tasks, owner) = (&self.0.tasks, TaskOwner::of(context));
        if tasks.is_of(id, admitted.server(), &owner) {
            return Ok(());
        }
        // Errors of the request that do not depend on the task come first.
        let known = self.0.catalog.seen_by(&context.caller);
        let known = known.servers.get(admitted.server());
        let is_of_other_era =
            |known: &Arc<ServerCatalog>| !context.revision.has_tasks_of(known.listing.revision);
        // A server of the other era has tasks of another form: to this client it offers none.
        if known.is_some_and(is_of_other_era) {
            return Err(RpcError::method_not_found(admitted.method()));
        }
        if context.revision.has_task_results() {
            Self::check_knows_tasks(context)?;
        }
        Err(unknown(id))
    }

    /// Checks that the client declared the tasks extension.
    pub fn check_knows_tasks(context: &CallContext) -> Result<(), RpcError> {
        if declares_tasks(&context.client.capabilities) {
            return Ok(());
        }
        let needed = serde_json::json!({ "extensions": { (TASKS_EXTENSION): {} } });
        let data = serde_json::json!({ "requiredCapabilities": needed });
        let text = format!("the client did not declare the extension {TASKS_EXTENSION:?}");
        let error = RpcError::new(RpcError::MISSING_CAPABILITY, text);
        Err(error.with_data(Raw::author(&data)))
    }

    /// Calls `tell` with each state of a task of this client's, as `tasks/get` would give it, until the subscription is dropped. Fails
    /// with the error object for the client. `tell` must not wait.
    pub async fn follow_task(
        &self,
        context: &CallContext,
        view: &View,
        id: &str,
        tell: Notifier,
    ) -> Result<Subscription, Raw> {
        let (target, owner) = (Target::followed_task(id), TaskOwner::of(context));
        let mut record = self.record_following(context, view, &target);
        let tasks = &self.0.tasks;
        let server = view.server().cloned();
        let server = server.or_else(|| tasks.server_of(id, &owner));
        let own = server.filter(|server| tasks.is_of(id, server, &owner));
        let admitted = match &own {
            None => Err(unknown(id).into()),
            Some(server) => {
                record.is_of(Some(server.as_str()), target.thing());
                let admitted = self.0.gate.admit(&context.caller, server.as_str(), target);
                let known = self.check_tool_of(&context.caller, server, id);
                known.and(admitted).map_err(RequestError::from)
            }
        };
        let tell = match own {
            Some(server) => self.of_own_task(context, view, (server, id), tell),
            None => tell,
        };
        let followed = self.follow(context, view, admitted, tell, record);
        followed.await
    }

    /// A notifier that drops states of a task that the client may no longer see, and gives resources the URIs that the endpoint offers.
    fn of_own_task(
        &self,
        context: &CallContext,
        view: &View,
        (server, id): (ServerName, &str),
        tell: Notifier,
    ) -> Notifier {
        let (router, context) = (self.clone(), context.clone());
        let (owner, id) = (TaskOwner::of(&context), id.to_owned());
        let renames = view.kind() == EndpointKind::ManyServers;
        Arc::new(move |notice| {
            let (target, caller) = (Target::followed_task(&id), &owner.caller);
            let gate = &router.0.gate;
            if !router.0.tasks.is_of(&id, &server, &owner)
                || router.check_tool_of(caller, &server, &id).is_err()
                || gate.decide(caller, server.as_str(), &target).is_err()
            {
                return;
            }
            let state = notice.params.as_ref().filter(|_| renames);
            let source = (&server, method::TASKS_GET, None);
            match state.and_then(|state| router.offered_uris_in(&context, source, state)) {
                Some(params) => tell(&Notification {
                    method: notice.method.clone(),
                    params: Some(params),
                }),
                None => tell(notice),
            }
        })
    }

    /// Checks that the caller may still use the tool whose call created the task of a request.
    pub(super) fn check_tool_of_task(&self, context: &CallContext, admitted: &Admitted) -> Result {
        let Thing::Task(id) = admitted.target().thing() else {
            return Ok(());
        };
        self.check_tool_of(&context.caller, admitted.server(), id)
    }

    fn check_tool_of(&self, caller: &Caller, server: &ServerName, id: &str) -> Result {
        match self.0.tasks.tool_of(id, server) {
            Some(tool) => {
                let (gate, target) = (&self.0.gate, Target::tool(&tool));
                gate.knows(caller, server.as_str(), &target)
            }
            None => Ok(()),
        }
    }

    /// A server's answer to `tasks/list` without the tasks of other clients.
    pub(super) fn own_tasks(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        outcome: Outcome,
    ) -> Outcome {
        let Outcome::Result(result) = &outcome else {
            return outcome;
        };
        let owner = TaskOwner::of(context);
        let tasks = result.get("tasks").unwrap_or_else(|| Raw::array(&[]));
        let is_own = |task: &Raw| {
            let id = task.get("taskId").and_then(|id| id.string());
            id.is_some_and(|id| self.0.tasks.is_of(&id, admitted.server(), &owner))
        };
        let own: Vec<Raw> = tasks.elements().filter(is_own).collect();
        if own.len() == tasks.elements().count() {
            return outcome;
        }
        let edits = [("tasks", Edit::Set(Raw::array(&own)))];
        let listed = splice(result, &edits).unwrap_or_else(|_| Raw::empty_object());
        Outcome::Result(listed)
    }

    /// Whether a server that this caller may use has the tasks extension.
    pub(super) fn some_server_has_tasks(&self, caller: &Caller) -> bool {
        let now = self.0.gate.now();
        let gives = |known: &ServerCatalog| {
            declares_tasks(&known.capabilities()) && known.listing.revision.has_task_results()
        };
        let mut servers = now.snapshot().servers.iter();
        servers.any(|(name, known)| gives(known) && now.rules().offers(caller, name.as_str()))
    }

    /// The server that has this task of the client.
    pub(super) fn server_of_task(
        &self,
        context: &CallContext,
        id: &str,
    ) -> Result<ServerName, RpcError> {
        let server = self.0.tasks.server_of(id, &TaskOwner::of(context));
        server.ok_or_else(|| unknown(id))
    }
}

/// Whether a client or a server declares the tasks extension.
pub fn declares_tasks(capabilities: &Raw) -> bool {
    let extensions = capabilities.get("extensions");
    extensions.is_some_and(|all| all.get(TASKS_EXTENSION).is_some())
}

/// The id of the task that a result is. Legacy servers create a task only where the request has the member `task`.
fn task_in(context: &CallContext, params: Option<&Raw>, result: &Raw) -> Option<String> {
    let task = if context.revision.has_task_results() {
        let is_task = result_type::of(result).as_deref() == Some(result_type::TASK);
        is_task.then(|| result.clone())
    } else {
        params?.get("task")?;
        result.get("task")
    };
    task?.get("taskId")?.string()
}

/// The refusal of a task that does not exist, or belongs to another client.
fn unknown(id: &str) -> RpcError {
    RpcError::invalid_params(format!(
        "Unknown task: {id:?}. Nothing ran: the task has ended, or belongs to another client. Use another id."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> TaskOwner {
        TaskOwner {
            caller: Caller::named("a"),
            client: OwningClient::Session(name.into()),
        }
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let (tasks, me) = (Tasks::default(), owner("me"));
        let server = ServerName::parse("s").expect("a name");
        for n in 0..=REMEMBERED {
            tasks.remember(&n.to_string(), &server, None, me.clone());
        }
        assert_eq!(tasks.server_of("0", &me), None);
        assert!(!tasks.is_of("0", &server, &me));
        assert_eq!(tasks.server_of("1", &me), Some(server));
        assert_eq!(tasks.0.lock().by_id.len(), REMEMBERED);
    }

    #[test]
    fn a_task_is_its_owners_only() {
        let tasks = Tasks::default();
        let [a, b] = ["a", "b"].map(|name| ServerName::parse(name).expect("a name"));
        let (me, other) = (owner("me"), owner("other"));
        tasks.remember("1", &a, Some("t"), me.clone());
        assert_eq!(tasks.tool_of("1", &a).as_deref(), Some("t"));
        assert_eq!(tasks.server_of("1", &me), Some(a.clone()));
        assert_eq!(tasks.server_of("1", &other), None);
        let namesake = TaskOwner {
            caller: Caller::named("b"),
            ..me.clone()
        };
        assert!(!tasks.is_of("1", &a, &namesake), "of another caller");
        // The same id at another server is another task.
        tasks.remember("1", &b, None, other.clone());
        assert_eq!(tasks.server_of("1", &me), Some(a.clone()));
        assert_eq!(tasks.server_of("1", &other), Some(b.clone()));
        assert!(tasks.is_of("1", &a, &me) && !tasks.is_of("1", &b, &me));
        // Which one its owner means cannot be told where it has both.
        tasks.remember("1", &b, None, me.clone());
        assert_eq!(tasks.server_of("1", &me), None);
        assert!(tasks.is_of("1", &a, &me) && tasks.is_of("1", &b, &me));
    }
}
