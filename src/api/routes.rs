//! The routes, each with its description: the served routes and the `OpenAPI` document come from one table.

use axum::{
    Router as HttpRouter,
    handler::Handler,
    middleware::from_fn_with_state,
    routing::{MethodFilter, on},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{
    Api,
    failure_words::reword_failures,
    strict_requests::{Described, Parameter, only_described},
};
use crate::failure::ErrorCode;

/// Writes a schema down, and what it refers to into the generator.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Served routes, and their descriptions.
pub(super) struct Routes<S = Api> {
    served: HttpRouter<S>,
    listed: Vec<Route>,
}

/// One route as the document says it.
pub(super) struct Route {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) about: About,
}

/// The description of a route.
pub(super) struct About {
    /// Its name for programs that are generated from the document.
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    /// An object of which each member is a parameter of the address.
    pub(super) query: Option<SchemaOf>,
    /// But for these.
    pub(super) without: &'static [&'static str],
    pub(super) body: Option<Body>,
    pub(super) answers: Vec<Answers>,
    /// The codes of its failures, beside those that every route has.
    pub(super) failures: &'static [ErrorCode],
    /// What a failure leaves undone.
    pub(super) undone: Option<&'static str>,
}

/// The body of a request.
pub(super) struct Body {
    pub(super) schema: SchemaOf,
    pub(super) is_required: bool,
}

/// What the answer is, where nothing failed.
pub(super) struct Answers {
    pub(super) media: &'static str,
    /// None where it is no JSON.
    pub(super) schema: Option<SchemaOf>,
}

/// Failures of what changes an entry.
pub(super) const CHANGE: &[ErrorCode] = &[
    ErrorCode::UnknownServer,
    ErrorCode::NotInFile,
    ErrorCode::ServerMisconfigured,
    ErrorCode::ConfigUnusable,
];

/// Failures of what needs a server to answer.
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

/// Failures of what accepts something.
pub(super) const REVIEW: &[ErrorCode] = &[
    ErrorCode::UnknownServer,
    ErrorCode::UnknownTool,
    ErrorCode::ServerMisconfigured,
    ErrorCode::ServerQuarantined,
    ErrorCode::ToolChanged,
    ErrorCode::ToolHeld,
    ErrorCode::ShuttingDown,
    ErrorCode::ConfigUnusable,
];

/// Failures of what calls a tool.
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

/// That of event streams.
pub(super) const EVENTS: &str = "text/event-stream";

impl About {
    pub(super) const fn new(id: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            summary,
            query: None,
            without: &[],
            body: None,
            answers: Vec::new(),
            failures: &[],
            undone: None,
        }
    }

    /// Its parameters are the members of `T`.
    pub(super) fn asks<T: JsonSchema>(mut self) -> Self {
        self.query = Some(T::json_schema);
        self
    }

    /// Some of those members are none.
    pub(super) fn but_not(mut self, names: &'static [&'static str]) -> Self {
        self.without = names;
        self
    }

    /// Its parameters.
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
        let mut about = self.takes::<T>();
        if let Some(body) = &mut about.body {
            body.is_required = false;
        }
        about
    }

    /// Its answer is a `T`, or what else it gives.
    pub(super) fn gives<T: JsonSchema>(self) -> Self {
        self.gives_as(SchemaGenerator::subschema_for::<T>)
    }

    /// Its body is what this describes.
    pub(super) fn takes_as(mut self, schema: SchemaOf) -> Self {
        self.body = Some(Body {
            schema,
            is_required: true,
        });
        self
    }

    /// Its answer is what this describes.
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

    pub(super) fn fails(mut self, failures: &'static [ErrorCode]) -> Self {
        self.failures = failures;
        self
    }

    /// What its failures say first.
    pub(super) fn undone(mut self, outcome: &'static str) -> Self {
        self.undone = Some(outcome);
        self
    }
}

/// A function for each method that routes have.
macro_rules! methods {
    ($($name:ident = $method:ident,)*) => {
        $(
            pub(super) fn $name<H, T>(self, path: &'static str, handler: H, about: About) -> Self
            where
                H: Handler<T, S>,
                T: 'static,
            {
                let name = stringify!($name);
                self.with(MethodFilter::$method, name, path, handler, about)
            }
        )*
    };
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    pub(super) fn new() -> Self {
        Self {
            served: HttpRouter::new(),
            listed: Vec::new(),
        }
    }

    methods! { get = GET, post = POST, put = PUT, patch = PATCH, delete = DELETE, }

    fn with<H, T>(
        mut self,
        filter: MethodFilter,
        method: &'static str,
        path: &'static str,
        handler: H,
        about: About,
    ) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        let described = Described::new(about.parameters(), about.body.is_some());
        let served = on(filter, handler)
            .route_layer(from_fn_with_state(described, only_described))
            .route_layer(from_fn_with_state(about.undone, reword_failures));
        self.served = self.served.route(path, served);
        self.listed.push(Route {
            method,
            path,
            about,
        });
        self
    }

    /// These and others.
    pub(super) fn and(mut self, others: Self) -> Self {
        self.served = self.served.merge(others.served);
        self.listed.extend(others.listed);
        self
    }

    /// The served routes, and their descriptions.
    pub(super) fn parts(self) -> (HttpRouter<S>, Vec<Route>) {
        (self.served, self.listed)
    }
}
