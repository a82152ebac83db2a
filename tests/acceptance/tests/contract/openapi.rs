//! `openapi.yaml`, read, and what it says about one answer.

use std::collections::BTreeSet;

use acceptance::Answer;
use serde_json::{Map, Value, json};

const SOURCE: &str = include_str!("../../../../openapi.yaml");
/// The keys of a path item that are methods.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// The contract.
pub(crate) struct Contract {
    document: Value,
}

/// One method of one path.
#[derive(Clone, Copy)]
pub(crate) struct Operation<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) body: &'a Value,
}

impl Contract {
    pub(crate) fn read() -> Contract {
        Contract { document: serde_saphyr::from_str(SOURCE).expect("openapi.yaml is YAML") }
    }

    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.document.pointer(pointer).unwrap_or_else(|| panic!("openapi.yaml has no {pointer}"))
    }

    /// Every operation, methods in capitals.
    pub(crate) fn operations(&self) -> Vec<(String, Operation<'_>)> {
        let paths = self.document["paths"].as_object().expect("paths");
        let of_path = |(path, item): (&'_ String, &'_ Value)| {
            let methods = METHODS.into_iter().filter(|method| item.get(method).is_some());
            methods.map(|method| (method.to_uppercase(), path.clone())).collect::<Vec<_>>()
        };
        let names: Vec<(String, String)> = paths.iter().flat_map(of_path).collect();
        names
            .into_iter()
            .map(|(name, path)| {
                let (path, item) = paths.get_key_value(&path).expect("a path");
                let (method, body) =
                    item.as_object().and_then(|item| item.get_key_value(&name.to_lowercase())).expect("it");
                (name, Operation { method, path, body })
            })
            .collect()
    }

    /// The operation that `method` and a concrete path name.
    pub(crate) fn operation(&self, method: &str, path: &str) -> Option<Operation<'_>> {
        let path = path.split('?').next().unwrap_or_default();
        let fits = |(name, operation): &(String, Operation<'_>)| name == method && is_of(operation.path, path);
        // A path without parameters goes before one with (OpenAPI, "Path Templating Matching").
        self.operations().into_iter().filter(fits).map(|(_, found)| found).min_by_key(|found| found.path.contains('{'))
    }

    /// What a `$ref` points to; anything else is itself.
    pub(crate) fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => self.at(reference.strip_prefix('#').expect("a local reference")),
            None => value,
        }
    }

    /// The response of `status` that the operation names.
    pub(crate) fn response(&self, operation: Operation<'_>, status: u16) -> Option<&Value> {
        let at = format!("/paths/{}/{}/responses/{status}", operation.path.replace('/', "~1"), operation.method);
        self.document.pointer(&at).map(|response| self.resolve(response))
    }

    /// Whether the contract takes `body` as a JSON body of the operation.
    pub(crate) fn takes(&self, operation: Operation<'_>, body: &Value) -> bool {
        let schema = &self.resolve(&operation.body["requestBody"])["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{} {} takes no JSON", operation.method, operation.path);
        self.violations(schema, body).is_empty()
    }

    /// What in `answer` the contract does not say; nothing when it is what the contract says, field by field.
    pub(crate) fn objections(&self, operation: Operation<'_>, answer: &Answer) -> Vec<String> {
        let Some(response) = self.response(operation, answer.status) else {
            return vec![format!("no response {}", answer.status)];
        };
        let Some(content) = response["content"].get(&answer.content_type) else {
            return vec![format!("no content type {} at {}", answer.content_type, answer.status)];
        };
        let mut objections = self.violations(&content["schema"], &answer.body);
        self.undocumented(&content["schema"], &answer.body, "", &mut objections);
        objections
    }

    /// What of `schema` the value breaks.
    pub(crate) fn violations(&self, schema: &Value, value: &Value) -> Vec<String> {
        let mut schema = schema.clone();
        schema["components"] = self.document["components"].clone();
        let validator = jsonschema::options().should_validate_formats(true).build(&schema).expect("a schema");
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
    }

    /// Fields of `value` that `schema` does not name. The schemas of answers stay open, for clients are to skip what they do not know;
    /// the server is to serve nothing that nobody wrote down.
    fn undocumented(&self, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
        let mut parts = Vec::new();
        self.parts(schema, value, &mut parts);
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let at = format!("{at}/{name}");
                    let named = parts.iter().filter_map(|part| part["properties"].get(name));
                    let open = parts.iter().filter_map(|part| part.get("additionalProperties"));
                    let schemas: Vec<&Value> = named.chain(open.filter(|schema| **schema != json!(false))).collect();
                    match schemas.as_slice() {
                        [] => found.push(format!("{at} is not documented")),
                        // Anything may stand there.
                        [Value::Bool(true), ..] => {}
                        [schema, ..] => self.undocumented(schema, field, &at, found),
                    }
                }
            }
            Value::Array(items) => {
                let schema = parts.iter().find_map(|part| part.get("items"));
                for (index, item) in items.iter().enumerate() {
                    self.undocumented(schema.unwrap_or(&Value::Null), item, &format!("{at}/{index}"), found);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The schemas that apply to `value` side by side: itself, what it refers to, all of `allOf`, the fitting ones of a choice.
    fn parts<'a>(&'a self, schema: &'a Value, value: &Value, parts: &mut Vec<&'a Value>) {
        parts.push(schema);
        if schema.get("$ref").is_some() {
            self.parts(self.resolve(schema), value, parts);
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.parts(part, value, parts);
        }
        for choice in ["oneOf", "anyOf"] {
            for part in schema[choice].as_array().into_iter().flatten() {
                if self.violations(part, value).is_empty() {
                    self.parts(part, value, parts);
                }
            }
        }
    }

    /// Every pair of HTTP status and code that a refusal of the operations may have, or that stands ready under `components`.
    pub(crate) fn refusals(&self) -> BTreeSet<(u16, String)> {
        let mut refusals = BTreeSet::new();
        for (name, operation) in self.operations() {
            for (status, response) in operation.body["responses"].as_object().into_iter().flatten() {
                let of_response = self.refusals_of(self.resolve(response));
                let named = of_response.iter().all(|(stated, _)| stated.to_string() == *status);
                assert!(named, "{name} {} {status}: {of_response:?}", operation.path);
                refusals.extend(of_response);
            }
        }
        let ready = self.document["components"]["responses"].as_object().into_iter().flatten();
        refusals.extend(ready.flat_map(|(_, response)| self.refusals_of(response)));
        refusals
    }

    /// A refusal's schema: the problem document, narrowed to one status and some codes.
    fn refusals_of(&self, response: &Value) -> Vec<(u16, String)> {
        let Some(schema) = response["content"].get("application/problem+json").map(|content| &content["schema"]) else {
            return Vec::new();
        };
        assert_eq!(schema["allOf"][0]["$ref"], "#/components/schemas/Problem");
        let narrowed = &schema["allOf"][1]["properties"];
        let status =
            narrowed["status"]["const"].as_u64().and_then(|status| u16::try_from(status).ok()).expect("a status");
        let codes = narrowed["code"]["enum"].as_array().expect("codes");
        codes.iter().map(|code| (status, code.as_str().expect("a code").to_owned())).collect()
    }

    /// Every example with the schema it stands beside, named by where it stands.
    pub(crate) fn examples(&self) -> Vec<(String, &Value, &Value)> {
        let mut examples = Vec::new();
        self.examples_below(&self.document, "", &mut examples);
        examples
    }

    fn examples_below<'a>(&'a self, value: &'a Value, at: &str, examples: &mut Vec<(String, &'a Value, &'a Value)>) {
        let below = |name: &str| format!("{at}/{name}");
        match value {
            Value::Object(fields) => {
                if let (Some(schema), Some(named)) = (fields.get("schema"), examples_of(fields)) {
                    let shown =
                        named.iter().map(|(name, example)| (below(name), schema, &self.resolve(example)["value"]));
                    examples.extend(shown);
                }
                if let (Some(schema), Some(example)) = (fields.get("schema"), fields.get("example")) {
                    examples.push((below("example"), schema, example));
                }
                fields.iter().for_each(|(name, field)| self.examples_below(field, &below(name), examples));
            }
            Value::Array(items) => items.iter().for_each(|item| self.examples_below(item, at, examples)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

fn examples_of(fields: &Map<String, Value>) -> Option<&Map<String, Value>> {
    fields.get("examples")?.as_object()
}

/// Whether the concrete path is one of the template's.
fn is_of(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len() && template.iter().zip(&path).all(|(part, real)| part.starts_with('{') || part == real)
}
