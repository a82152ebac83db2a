//! Which items a request writes.

use serde_json::{Map, Value};

/// An item a request names, by its key or by its whole content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Written<'a> {
    pub(super) table: &'a str,
    attributes: &'a Map<String, Value>,
}

impl Written<'_> {
    /// The item's key: the attributes of these names. `None` when one is missing, which the engine refuses.
    pub(super) fn key(&self, names: &[String]) -> Option<Value> {
        let attribute = |name: &String| Some((name.clone(), self.attributes.get(name)?.clone()));
        names.iter().map(attribute).collect::<Option<Map<String, Value>>>().map(Value::Object)
    }
}

/// The items `operation` may write, in the order of the request.
pub(super) fn written_by<'a>(operation: &str, body: &'a Value) -> Vec<Written<'a>> {
    match operation {
        "PutItem" | "UpdateItem" | "DeleteItem" => named_in(body).into_iter().collect(),
        "TransactWriteItems" => {
            let members = body.get("TransactItems").and_then(Value::as_array).into_iter().flatten();
            let actions = members.filter_map(Value::as_object).flatten();
            actions
                .filter(|(action, _)| *action != "ConditionCheck")
                .filter_map(|(_, action)| named_in(action))
                .collect()
        }
        "BatchWriteItem" => {
            let tables = body.get("RequestItems").and_then(Value::as_object).into_iter().flatten();
            let requests = tables.flat_map(|(table, requests)| {
                requests
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_object)
                    .flatten()
                    .map(move |(_, one)| (table, one))
            });
            requests.filter_map(|(table, one)| Some(Written { table, attributes: attributes_in(one)? })).collect()
        }
        _ => Vec::new(),
    }
}

fn named_in(action: &Value) -> Option<Written<'_>> {
    Some(Written { table: action.get("TableName")?.as_str()?, attributes: attributes_in(action)? })
}

fn attributes_in(action: &Value) -> Option<&Map<String, Value>> {
    action.get("Item").or_else(|| action.get("Key"))?.as_object()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_write_names_its_items_and_a_condition_check_writes_none() {
        let keys = |operation: &str, body: Value| -> Vec<(String, Option<Value>)> {
            let names = ["pk".to_owned()];
            written_by(operation, &body).iter().map(|written| (written.table.to_owned(), written.key(&names))).collect()
        };
        let key = json!({"pk": {"S": "1"}});
        let item = json!({"pk": {"S": "1"}, "a": {"N": "2"}});
        let one = vec![("t".to_owned(), Some(key.clone()))];
        assert_eq!(keys("PutItem", json!({"TableName": "t", "Item": item})), one);
        assert_eq!(keys("UpdateItem", json!({"TableName": "t", "Key": key})), one);
        let transaction = json!({"TransactItems": [
            {"ConditionCheck": {"TableName": "t", "Key": key}},
            {"Update": {"TableName": "t", "Key": key}},
        ]});
        assert_eq!(keys("TransactWriteItems", transaction), one);
        let batch = json!({"RequestItems": {"t": [{"PutRequest": {"Item": item}}, {"DeleteRequest": {"Key": key}}]}});
        assert_eq!(keys("BatchWriteItem", batch), [one.clone(), one].concat());
        assert_eq!(keys("PutItem", json!({"TableName": "t", "Item": {}})), [("t".to_owned(), None)]);
        assert!(keys("Query", json!({"TableName": "t"})).is_empty());
    }
}
