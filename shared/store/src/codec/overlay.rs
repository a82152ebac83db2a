//! What an older program does not know survives its writes, also nested (DESIGN §6).

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::attribute::Item;
use super::names::{ORDER, Shape};

/// The item to be stored: `new` as this program encodes it, over `old` as it was read.
pub(crate) fn overlay(old: &Item, new: Item) -> Item {
    overlay_map(&ORDER, old, new)
}

fn overlay_map(
    shape: &Shape,
    old: &HashMap<String, AttributeValue>,
    mut new: HashMap<String, AttributeValue>,
) -> HashMap<String, AttributeValue> {
    for (name, old_value) in old {
        match shape.known.iter().find(|(known, _)| known == name) {
            None => {
                new.insert(name.clone(), old_value.clone());
            }
            Some((_, Some(nested))) => {
                if let Some(new_value) = new.remove(name) {
                    new.insert(name.clone(), overlay_value(nested, old_value, new_value));
                }
            }
            Some((_, None)) => {}
        }
    }
    new
}

fn overlay_value(shape: &Shape, old: &AttributeValue, new: AttributeValue) -> AttributeValue {
    match (old, new) {
        (AttributeValue::M(old), AttributeValue::M(new)) => AttributeValue::M(overlay_map(shape, old, new)),
        (AttributeValue::L(old), AttributeValue::L(new)) => {
            let matching = |index: usize, element: &AttributeValue| match shape.key {
                None => old.get(index),
                Some(key) => {
                    let wanted = element.as_m().ok().and_then(|map| map.get(key));
                    old.iter().find(|old| old.as_m().ok().and_then(|map| map.get(key)) == wanted)
                }
            };
            let overlaid = new.into_iter().enumerate().map(|(index, element)| match matching(index, &element) {
                Some(old) => overlay_value(shape, &old.clone(), element),
                None => element,
            });
            AttributeValue::L(overlaid.collect())
        }
        (_, new) => new,
    }
}
