//! Routes, each with its description: what is served and the `OpenAPI` document come from one table, and a request is held against its
//! description.

use axum::{
    Router as HttpRouter,
    handler::Handler,
    middleware::from_fn_with_state,
    routing::{self, MethodRouter},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{
    Api,
    failure_words::reword_failures,
    strict_requests::{Parameter, RequestRules, refuse_undescribed},
};
use crate::failure::ErrorCode;

/// Makes a schema; the schemas to which it refers stay in the generator.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Routes with their descriptions.
pub(super) type Routes<S = Api> = Vec<Route<S>>;

/// A method of a path: what answers it, and its description.
pub(super) struct Route<S = Api> {
    answered_by: MethodRouter<S>,
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    /// Its name for programs that are generated from the document.
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    /// The schema of an object whose members are the parameters of the query.
    pub(super) query: Option<SchemaOf>,
    /// The members of that object that are no parameters here.
    pub(super) without: &'static [&'static str],
    pub(super) body: Option<Body>,
    pub(super) answers: Vec<Answers>,
    /// The codes of its failures, beside those that every route has.
    pub(super) failures: &'static [ErrorCode],
    /// What was not done when it failed, in words with which the failure begins.
    pub(super) undone: Option<&'static str>,
}

/// The body of a request.
pub(super) struct Body {
    pub(super) schema: SchemaOf,
    pub(super) is_required: bool,
}

/// One form of the answer when nothing failed.
pub(super) struct Answers {
    pub(super) media: &'static str,
    /// Absent where it is no JSON.
    pub(super) schema: Option<SchemaOf>,
}

/// Failures of routes that change an entry.
pub(super) const CHANGE: &[ErrorCode] = &[
    ErrorCode::UnknownServer,
    ErrorCode::NotInFile,
    ErrorCode::ServerMisconfigured,
    ErrorCode::ConfigUnusable,
];

/// Failures of routes that wait for a server.
pub(super) const CONTACT: &[ErrorCode] = &[
    ErrorCode::UnknownServer,
    ErrorCode::ServerDisabled,
    ErrorCode::ServerMisconfigured,
    ErrorCode::ServerQuarantined,
    ErrorCode::ServerUnavailable,
    ErrorCode::LoginRequired,
    ErrorCode::ConnectionLost,
    ErrorCode::TimedOut,
    ErrorCode::BadUpstreamAnswer,
    ErrorCode::Overloaded,
    ErrorCode::ShuttingDown,
    ErrorCode::ConfigUnusable,
];

/// Failures of routes that approve something.
pub(super) const REVIEW: &[ErrorCode] = &[
    ErrorCode::UnknownServer,
    ErrorCode::UnknownTool,
    ErrorCode::ServerMisconfigured,
    ErrorCode::ServerQuarantined,
    ErrorCode::ToolChanged,
    ErrorCode::ToolHeld,
    ErrorCode::NotConfirmed,
    ErrorCode::ShuttingDown,
    ErrorCode::ConfigUnusable,
];

/// Failures of routes that call a tool.
pub(super) const CALL: &[ErrorCode] = &[
    ErrorCode::UnknownServer,
    ErrorCode::UnknownTool,
    ErrorCode::ServerDisabled,
    ErrorCode::ServerMisconfigured,
    ErrorCode::ServerQuarantined,
    ErrorCode::ToolDisabled,
    ErrorCode::ToolChanged,
    ErrorCode::ToolHeld,
    ErrorCode::WrongVariant,
    ErrorCode::RateLimited,
    ErrorCode::ServerUnavailable,
    ErrorCode::LoginRequired,
    ErrorCode::ConnectionLost,
    ErrorCode::TimedOut,
    ErrorCode::BadUpstreamAnswer,
    ErrorCode::QuestionUnanswered,
    ErrorCode::Overloaded,
    ErrorCode::ShuttingDown,
];

/// The media type of all but streams and exports.
pub(super) const JSON: &str = "application/json";

/// The media type of event streams.
pub(super) const EVENTS: &str = "text/event-stream";

/// A function for each method that routes have.
macro_rules! methods {
    ($($name:ident)*) => {
        $(
            pub(super) fn $name<H, T>(path: &'static str, handler: H) -> Self
            where
                H: Handler<T, S>,
                T: 'static,
            {
                Self::new(stringify!($name), path, routing::$name(handler))
            }
        )*
    };
}

impl<S: Clone + Send + Sync + 'static> Route<S> {
    methods! { get post put patch delete }

    fn new(method: &'static str, path: &'static str, answered_by: MethodRouter<S>) -> Self {
        Self {
            answered_by,
            method,
            path,
            id: "",
            summary: "",
            query: None,
            without: &[],
            body: None,
            answers: Vec::new(),
            failures: &[],
            undone: None,
        }
    }

    /// Its name for programs, and what it does.
    pub(super) fn about(mut self, id: &'static str, summary: &'static str) -> Self {
        (self.id, self.summary) = (id, summary);
        self
    }

    /// Its parameters are the members of `T`.
    pub(super) fn asks<T: JsonSchema>(mut self) -> Self {
        self.query = Some(T::json_schema);
        self
    }

    /// These members of that object are no parameters here.
    pub(super) fn but_not(mut self, names: &'static [&'static str]) -> Self {
        self.without = names;
        self
    }

    /// The parameters, as requests are held against them.
    fn parameters(&self) -> Vec<Parameter> {
        let schema = (self.query).map(|schema| schema(&mut SchemaGenerator::default()));
        let members = schema
            .as_ref()
            .and_then(|schema| schema.get("properties")?.as_object());
        let members = members.into_iter().flatten();
        let members = members.filter(|(name, _)| !self.without.contains(&name.as_str()));
        let parameters = members.map(|(name, schema)| Parameter::of_schema(name, schema));
        parameters.collect()
    }

    /// Its body is a `T`.
    pub(super) fn takes<T: JsonSchema>(self) -> Self {
        self.takes_as(SchemaGenerator::subschema_for::<T>)
    }

    /// Its body is a `T`, or there is none.
    pub(super) fn may_take<T: JsonSchema>(self) -> Self {
        let mut route = self.takes::<T>();
        if let Some(body) = &mut route.body {
            body.is_required = false;
        }
        route
    }

    /// Its answer is a `T`, or another form that it gives.
    pub(super) fn gives<T: JsonSchema>(self) -> Self {
        self.gives_as(SchemaGenerator::subschema_for::<T>)
    }

    /// Its body is what this schema describes.
    pub(super) fn takes_as(mut self, schema: SchemaOf) -> Self {
        self.body = Some(Body {
            schema,
            is_required: true,
        });
        self
    }

    /// Its answer is what this schema describes.
    pub(super) fn gives_as(mut self, schema: SchemaOf) -> Self {
        self.answers.push(Answers {
            media: JSON,
            schema: Some(schema),
        });
        self
    }

    /// Its answer is of this media type.
    pub(super) fn gives_text(mut self, media: &'static str) -> Self {
        self.answers.push(Answers {
            media,
            schema: None,
        });
        self
    }

    /// Its failures have these codes, beside those of every route.
    pub(super) fn fails(mut self, failures: &'static [ErrorCode]) -> Self {
        self.failures = failures;
        self
    }

    /// Its failures begin with these words.
    pub(super) fn undone(mut self, outcome: &'static str) -> Self {
        self.undone = Some(outcome);
        self
    }
}

/// What serves these routes.
pub(super) fn served<S: Clone + Send + Sync + 'static>(routes: Routes<S>) -> HttpRouter<S> {
    routes.into_iter().fold(HttpRouter::new(), |served, route| {
        let rules = RequestRules {
            parameters: route.parameters().into(),
            takes_body: route.body.is_some(),
        };
        let checked = route
            .answered_by
            .route_layer(from_fn_with_state(rules, refuse_undescribed))
            .route_layer(from_fn_with_state(route.undone, reword_failures));
        served.route(route.path, checked)
    })
}
