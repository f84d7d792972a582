//! The `OpenAPI` document (3.1), made from the table of routes and the types of their requests and answers. It is the same for every daemon
//! of this version, so anybody may read it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use axum::response::Response;
use bytes::Bytes;
use schemars::{Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    json_response,
    routes::{Answers, JSON, Route},
};
use crate::{
    config,
    failure::{ErrorCode, RestFailure},
};

/// The path of the document.
pub(super) const PATH: &str = "/api/v1/openapi.json";

/// Failures that every route may have.
const COMMON: [ErrorCode; 5] = [
    ErrorCode::InvalidArguments,
    ErrorCode::Unauthorized,
    ErrorCode::AccessDenied,
    ErrorCode::Internal,
    ErrorCode::Overloaded,
];

/// The failure of a body that is too large: the only one with another status than that of its code.
const TOO_LARGE: (u16, &ErrorCode) = (413, &ErrorCode::InvalidArguments);

/// The schema of every failure.
const FAILURE: &str = "#/components/schemas/Failure";

pub(super) async fn show() -> Response {
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    let text = TEXT.get_or_init(|| document(&super::table()).to_string().into());
    json_response(text.clone())
}

/// The generators of schemas, one for types that are read and one for types that are written: they differ in which members may be absent.
struct Schemas {
    read: SchemaGenerator,
    written: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
            })
        };
        Self {
            read: settings().for_deserialize().into_generator(),
            written: settings().for_serialize().into_generator(),
        }
    }
}

/// The document for these routes.
fn document(listed: &[Route]) -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for route in listed {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Value::Object(path) = path {
            path.insert(route.method.to_owned(), operation(route, &mut schemas));
        }
    }
    let _ = schemas.written.subschema_for::<RestFailure>();
    let mut definitions = schemas.read.take_definitions(true);
    definitions.append(&mut schemas.written.take_definitions(true));
    definitions.append(&mut config_definitions());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "mcpproxy",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The REST API of mcpproxy; docs/rest.md explains how requests send the API key.",
            "license": { "name": "MIT", "identifier": "MIT" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "key": [] }, { "login": [] }],
        "paths": paths,
        "components": {
            "schemas": definitions,
            "securitySchemes": {
                "key": { "type": "apiKey", "in": "header", "name": "X-API-Key" },
                "login": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "mcpproxy_page",
                    "description": "Set by the link from `mcpproxy ui`; the cookie's full name ends in `_` and the port.",
                },
            },
        },
    })
}

fn operation(route: &Route, schemas: &mut Schemas) -> Value {
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "tags": [tag(route.path)],
    });
    let mut parameters = path_parameters(route.path);
    if let Some(schema) = route.query {
        let query = schema(&mut schemas.read);
        parameters.extend(query_parameters(&query, route.without));
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = &route.body {
        let schema = (body.schema)(&mut schemas.read);
        operation["requestBody"] = json!({
            "required": body.is_required,
            "content": { JSON: { "schema": schema } },
        });
    }
    let content = contents(&route.answers, &mut schemas.written);
    operation["responses"] = responses(route, &content);
    if route.path == PATH {
        operation["security"] = json!([]);
    }
    operation
}

/// The answers of an operation, by media type.
fn contents(answers: &[Answers], written: &mut SchemaGenerator) -> Map<String, Value> {
    let mut content = Map::new();
    for answer in answers {
        let schema = match answer.schema {
            Some(schema) => schema(written).to_value(),
            None => json!({ "type": "string" }),
        };
        let described = match content.remove(answer.media) {
            None => json!({ "schema": schema }),
            Some(other) => json!({ "schema": { "anyOf": [other["schema"], schema] } }),
        };
        content.insert(answer.media.to_owned(), described);
    }
    content
}

/// The responses of an operation, by status.
fn responses(route: &Route, content: &Map<String, Value>) -> Value {
    let mut responses = Map::new();
    responses.insert(
        "200".to_owned(),
        json!({ "description": route.summary, "content": content }),
    );
    let mut failures = route.failures.to_vec();
    if route.path.contains('{') {
        // An empty name makes another path.
        failures.push(ErrorCode::UnknownPath);
    }
    for (status, codes) in codes_by_status(&failures) {
        let codes = Vec::from_iter(codes).join(" or ");
        let description = format!("Failed with the code {codes}.");
        let answer = json!({
            "description": description,
            "content": { JSON: { "schema": { "$ref": FAILURE } } },
        });
        responses.insert(status.to_string(), answer);
    }
    responses.into()
}

/// The statuses of failures, with the codes that each has.
fn codes_by_status(failures: &[ErrorCode]) -> BTreeMap<u16, BTreeSet<&'static str>> {
    let mut codes: BTreeMap<u16, BTreeSet<&'static str>> = BTreeMap::new();
    let failures = COMMON.iter().chain(failures);
    let failures = failures.map(|code| (code.http_status(), code));
    for (status, code) in failures.chain([TOO_LARGE]) {
        codes.entry(status).or_default().insert(code.as_str());
    }
    codes
}

/// The resource: what comes after `/api/v1/`.
fn tag(path: &str) -> &str {
    path.split('/').nth(3).unwrap_or_default()
}

/// The parameters in the path, which stand in braces.
fn path_parameters(path: &str) -> Vec<Value> {
    let named = path.split('/').filter_map(|part| {
        let part = part.strip_prefix('{')?;
        part.strip_suffix('}')
    });
    let parameter = |name: &str| {
        let text = json!({ "type": "string", "minLength": 1 });
        let (schema, description) = match name {
            "id" => {
                let number = json!({ "type": "integer", "minimum": 0 });
                (number, "The number of the record.".to_owned())
            }
            "client" => {
                let client = "The client by its name in `GET /api/v1/clients`.";
                (text, client.to_owned())
            }
            _ => {
                let thing = tag(path).trim_end_matches('s');
                (text, format!("The name of the {thing}."))
            }
        };
        json!({
            "name": name,
            "in": "path",
            "required": true,
            "description": description,
            "schema": schema,
        })
    };
    named.map(parameter).collect()
}

/// The members of an object as parameters, without some.
fn query_parameters(object: &Schema, without: &[&str]) -> Vec<Value> {
    let members = object.get("properties").and_then(Value::as_object);
    let required = object.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let parameter = |(name, schema): (&String, &Value)| {
        let mut schema = schema.clone();
        let description = schema.as_object_mut().and_then(|schema| {
            schema.remove("default");
            if let Some(Value::Array(types)) = schema.get_mut("type") {
                // An absent parameter is none.
                types.retain(|one| one != "null");
            }
            schema.remove("description")
        });
        let mut parameter = json!({
            "name": name,
            "in": "query",
            "required": is_required(name),
            "schema": schema,
        });
        if let Some(description) = description {
            parameter["description"] = description;
        }
        parameter
    };
    let listed = members.into_iter().flatten();
    let listed = listed.filter(|(name, _)| !without.contains(&name.as_str()));
    listed.map(parameter).collect()
}

/// The definitions of the configuration's schema, with a prefix before their names.
fn config_definitions() -> Map<String, Value> {
    let schema = config::schema().replace("#/$defs/", "#/components/schemas/config_");
    let schema: Value = serde_json::from_str(&schema).unwrap_or_default();
    let definitions = schema["$defs"].as_object().into_iter().flatten();
    let named = definitions.map(|(name, schema)| (format!("config_{name}"), schema.clone()));
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole_document() -> Value {
        document(&super::super::table())
    }

    /// Every `$ref` below a value.
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(target)) = members.get("$ref") {
                    found.push(target.clone());
                }
                members
                    .values()
                    .for_each(|member| references(member, found));
            }
            Value::Array(elements) => elements.iter().for_each(|one| references(one, found)),
            _ => (),
        }
    }

    #[test]
    fn everything_that_is_referred_to_is_there() {
        let document = whole_document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 50, "{found:?}");
        for target in found {
            let pointer = target.strip_prefix('#').expect("in the document");
            assert!(document.pointer(pointer).is_some(), "{target}");
        }
    }

    #[test]
    fn operations_have_names_of_their_own_and_say_something() {
        let listed = super::super::table();
        let names: BTreeSet<&str> = listed.iter().map(|route| route.id).collect();
        assert_eq!(names.len(), listed.len());
        for route in &listed {
            assert!(route.summary.ends_with('.'), "{}", route.path);
            assert!(!route.answers.is_empty(), "{}", route.path);
        }
    }

    #[test]
    fn types_that_are_read_and_written_are_described_once() {
        // A name stands for one of two where they differ.
        let listed = super::super::table();
        let mut schemas = Schemas::new();
        for route in &listed {
            operation(route, &mut schemas);
        }
        let read = schemas.read.take_definitions(true);
        let written = schemas.written.take_definitions(true);
        for (name, schema) in &read {
            let other = written.get(name);
            assert!(other.is_none_or(|other| other == schema), "{name}");
        }
    }
}
