//! Secrets Manager, as far as this system uses it: a secret, its current version and the one before it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::wire::ApiError;

/// All secrets, by name.
#[derive(Debug, Default)]
pub(crate) struct Secrets(BTreeMap<String, Versions>);

#[derive(Debug)]
struct Versions {
    current: String,
    previous: Option<String>,
}

/// The secret a request names; empty when it names none.
pub(crate) fn id_of(body: &Value) -> &str {
    let member = |name: &str| body.get(name).and_then(Value::as_str);
    member("SecretId").or_else(|| member("Name")).unwrap_or_default()
}

impl Secrets {
    /// Carries out one operation.
    pub(crate) fn execute(&mut self, operation: &str, body: &Value) -> Result<Value, ApiError> {
        let name = id_of(body);
        match operation {
            "CreateSecret" => self.create(name, text(body)?),
            "PutSecretValue" => self.put(name, text(body)?),
            "GetSecretValue" => self.get(name, body.get("VersionStage").and_then(Value::as_str)),
            other => Err(ApiError::new(
                400,
                "UnknownOperationException",
                format!("{other} is not part of the embedded Secrets Manager"),
            )),
        }
    }

    fn create(&mut self, name: &str, text: String) -> Result<Value, ApiError> {
        if name.is_empty() {
            return Err(ApiError::new(400, "InvalidParameterException", "A secret needs a name."));
        }
        if self.0.contains_key(name) {
            return Err(ApiError::new(400, "ResourceExistsException", "The secret already exists."));
        }
        self.0.insert(name.to_owned(), Versions { current: text, previous: None });
        Ok(json!({ "Name": name }))
    }

    fn put(&mut self, name: &str, text: String) -> Result<Value, ApiError> {
        let versions = self.0.get_mut(name).ok_or_else(not_found)?;
        versions.previous = Some(std::mem::replace(&mut versions.current, text));
        Ok(json!({ "Name": name }))
    }

    fn get(&self, name: &str, stage: Option<&str>) -> Result<Value, ApiError> {
        let versions = self.0.get(name).ok_or_else(not_found)?;
        let text = match stage.unwrap_or("AWSCURRENT") {
            "AWSCURRENT" => Some(&versions.current),
            "AWSPREVIOUS" => versions.previous.as_ref(),
            _ => None,
        };
        Ok(json!({ "Name": name, "SecretString": text.ok_or_else(not_found)? }))
    }
}

fn text(body: &Value) -> Result<String, ApiError> {
    let text = body.get("SecretString").and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| ApiError::new(400, "InvalidParameterException", "A secret needs a text."))
}

fn not_found() -> ApiError {
    ApiError::new(400, "ResourceNotFoundException", "Secrets Manager can't find the specified secret value.")
}
