//! A stored item comes from outside: whatever stands in it, reading it is an error or an order, never a panic and never a guess.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use proptest::prelude::*;

use super::{generated, item_of};
use crate::codec::{Item, decode};

/// Attributes that reading an order does not need: the row's sort key, the write's token, and the shard, which follows from the id.
const NOT_READ: [&str; 3] = ["sk", "op", "ds"];

/// One value of every type.
fn of_every_type() -> Vec<AttributeValue> {
    vec![
        AttributeValue::S("?".to_owned()),
        AttributeValue::N("-1".to_owned()),
        AttributeValue::B(Blob::new([1])),
        AttributeValue::Bool(true),
        AttributeValue::Null(true),
        AttributeValue::Ss(vec!["?".to_owned()]),
        AttributeValue::Ns(vec!["1".to_owned()]),
        AttributeValue::Bs(vec![Blob::new([1])]),
        AttributeValue::L(vec![AttributeValue::Null(true)]),
        AttributeValue::M(Item::new()),
    ]
}

/// Every way to put a value of another type in the place of one value within `value`, with the name it stands under.
fn mutants(value: &AttributeValue) -> Vec<AttributeValue> {
    let mut mutants: Vec<AttributeValue> = of_every_type()
        .into_iter()
        .filter(|other| std::mem::discriminant(other) != std::mem::discriminant(value))
        .collect();
    if let AttributeValue::M(map) = value {
        mutants.extend(mutants_of_map(map).into_iter().map(|(_, map)| AttributeValue::M(map)));
    }
    if let AttributeValue::L(values) = value {
        for (index, element) in values.iter().enumerate() {
            for mutant in self::mutants(element) {
                let mut values = values.clone();
                values[index] = mutant;
                mutants.push(AttributeValue::L(values));
            }
        }
    }
    mutants
}

fn mutants_of_map(map: &Item) -> Vec<(String, Item)> {
    let mut mutants = Vec::new();
    for (name, value) in map {
        for mutant in self::mutants(value) {
            let mut map = map.clone();
            map.insert(name.clone(), mutant);
            mutants.push((name.clone(), map));
        }
    }
    mutants
}

fn any_value() -> impl Strategy<Value = AttributeValue> {
    let leaf = prop_oneof![
        any::<String>().prop_map(AttributeValue::S),
        "-?[0-9]{0,30}(\\.[0-9]{1,3})?(e[0-9]{1,2})?".prop_map(AttributeValue::N),
        any::<u64>().prop_map(|number| AttributeValue::N(number.to_string())),
        proptest::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| AttributeValue::B(Blob::new(bytes))),
        any::<bool>().prop_map(AttributeValue::Bool),
        Just(AttributeValue::Null(true)),
        proptest::collection::vec(any::<String>(), 0..4).prop_map(AttributeValue::Ss),
    ];
    leaf.prop_recursive(3, 20, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(AttributeValue::L),
            proptest::collection::hash_map("[a-z]{1,2}", inner, 0..5).prop_map(AttributeValue::M),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_attribute_of_another_type_is_an_error(order in generated::order()) {
        for (name, item) in mutants_of_map(&item_of(&order)) {
            let read = decode(&item);
            prop_assert_eq!(read.is_ok(), NOT_READ.contains(&name.as_str()), "{}: {:?}", name, item.get(&name));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_value_of_any_kind_makes_it_panic(
        order in generated::order(),
        at in any::<prop::sample::Index>(),
        value in any_value(),
    ) {
        let mut item = item_of(&order);
        let mut names: Vec<String> = item.keys().cloned().collect();
        names.sort();
        item.insert(at.get(&names).clone(), value);
        // What could be read can be written, and is read back alike.
        if let Ok(order) = decode(&item) {
            prop_assert_eq!(decode(&item_of(&order)), Ok(order));
        }
    }
}

#[test]
fn the_error_names_the_attribute_and_what_it_should_be() {
    let mut item = item_of(&generated::simple());
    item.insert("xa".to_owned(), AttributeValue::N("1.5".to_owned()));
    let error = decode(&item).expect_err("no time");
    assert_eq!(error.to_string(), "the attribute xa is not a whole number from 0 on");
}
