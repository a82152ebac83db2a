//! The update of an order item: exactly the attributes that change, under the version and status it was decided on.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::decide::Commit;
use expiry_core::guard;

use crate::Loaded;
use crate::codec::{Item, millis, names, number, status_code};

/// The order is what it was decided on.
const AS_DECIDED_ON: &str = "#v = :on_version AND #s = :on_status";
/// What stands instead in a build without that guard.
const ANY: &str = "(#v = :on_version OR attribute_exists(#v)) AND (#s = :on_status OR attribute_exists(#s))";

/// One conditional update of one order.
#[derive(Debug)]
pub(crate) struct Change {
    key: Item,
    update: String,
    condition: String,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl Change {
    /// From the item as it was read to the item as it will be.
    pub(crate) fn new<O>(before: &Loaded, after: &Item, commit: &Commit<O>) -> Change {
        let mut change = Change {
            key: HashMap::new(),
            update: String::new(),
            // The order is what it was decided on, and (I7) its deadline has passed where that matters.
            condition: if guard::VERSION.stands() { AS_DECIDED_ON } else { ANY }.to_owned(),
            names: HashMap::from([
                ("#v".to_owned(), names::VERSION.to_owned()),
                ("#s".to_owned(), names::STATUS.to_owned()),
            ]),
            values: HashMap::from([
                (":on_version".to_owned(), number(commit.on_version)),
                (":on_status".to_owned(), status_code(commit.on_status)),
            ]),
        };
        if let Some(now) = commit.after_deadline {
            change.condition.push_str(" AND #xa <= :now");
            change.names.insert("#xa".to_owned(), names::EXPIRE_AT.to_owned());
            change.values.insert(":now".to_owned(), millis(now));
        }
        for name in [names::PK, names::SK] {
            change.key.extend(after.get(name).map(|value| (name.to_owned(), value.clone())));
        }
        let mut sets = Vec::new();
        let mut sorted: Vec<_> = after.iter().collect();
        sorted.sort_by_key(|(name, _)| name.as_str());
        for (index, (name, value)) in sorted.into_iter().enumerate() {
            let is_key = change.key.contains_key(name);
            if is_key || before.item.get(name).is_some_and(|old| same(old, value)) {
                continue;
            }
            sets.push(format!("#a{index} = :a{index}"));
            change.names.insert(format!("#a{index}"), name.clone());
            change.values.insert(format!(":a{index}"), value.clone());
        }
        let mut gone: Vec<_> = before.item.keys().filter(|name| !after.contains_key(*name)).collect();
        gone.sort();
        let mut removes = Vec::new();
        for (index, name) in gone.into_iter().enumerate() {
            removes.push(format!("#r{index}"));
            change.names.insert(format!("#r{index}"), name.clone());
        }
        change.update = format!("SET {}", sets.join(", "));
        if !removes.is_empty() {
            change.update.push_str(&format!(" REMOVE {}", removes.join(", ")));
        }
        change
    }

    pub(crate) fn key(&self) -> Item {
        self.key.clone()
    }

    pub(crate) fn update(&self) -> &str {
        &self.update
    }

    pub(crate) fn condition(&self) -> &str {
        &self.condition
    }

    pub(crate) fn names(&self) -> HashMap<String, String> {
        self.names.clone()
    }

    pub(crate) fn values(&self) -> HashMap<String, AttributeValue> {
        self.values.clone()
    }
}

/// Whether two values are the same to DynamoDB: sets have no order.
fn same(old: &AttributeValue, new: &AttributeValue) -> bool {
    match (old, new) {
        (AttributeValue::Ss(old), AttributeValue::Ss(new)) => {
            let (mut old, mut new) = (old.clone(), new.clone());
            old.sort();
            new.sort();
            old == new
        }
        (old, new) => old == new,
    }
}
