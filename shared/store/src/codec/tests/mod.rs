//! Proofs of the codec: what is written is read back, what is not known survives, what is not ours is an error.

mod evolution;
mod generated;
mod size;
mod wrong_types;

use expiry_core::order::Order;
use proptest::prelude::*;

use super::{Item, decode, encode};

/// The token of a write of the tests.
const TOKEN: [u8; 8] = *b"12345678";

fn item_of(order: &Order) -> Item {
    encode(order, &TOKEN)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_order_is_read_back_as_it_was_written(order in generated::order()) {
        prop_assert_eq!(decode(&item_of(&order)), Ok(order));
    }

    #[test]
    fn one_order_has_one_item(order in generated::order()) {
        prop_assert_eq!(item_of(&order), item_of(&order));
        let again = decode(&item_of(&order)).map(|order| item_of(&order));
        prop_assert_eq!(again, Ok(item_of(&order)));
    }
}

#[test]
fn what_can_be_derived_is_not_stored() {
    let item = item_of(&generated::simple());
    for absent in ["so", "co", "po", "q", "oc", "a", "w", "cl", "ak", "cr", "cx", "px", "e"] {
        assert!(!item.contains_key(absent), "{absent}");
    }
}
