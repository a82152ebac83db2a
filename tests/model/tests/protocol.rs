//! The protocol, checked over every interleaving of every cast.

use std::collections::BTreeSet;

use expiry_core::order::OrderStatus;
use model::cast::Cast;
use model::casts::{CASTS, cast};
use model::properties::properties;
use model::{Verdict, check};
use stateright::{Expectation, Property};

fn named(expected: &Expectation) -> BTreeSet<&'static str> {
    properties().iter().filter(|property| property.expectation == *expected).map(|property| property.name).collect()
}

#[test]
fn in_every_cast_every_invariant_holds_and_over_all_of_them_everything_happens_that_should() {
    let verdicts: Vec<Verdict> = CASTS.iter().map(check).collect();
    for Verdict { cast, states, held, broken, .. } in &verdicts {
        println!("{cast}: {states} states");
        let stories: Vec<String> = broken.iter().map(|(name, story)| format!("{name}\n{story}")).collect();
        assert!(stories.is_empty(), "{cast}: {}", stories.join("\n"));
        assert_eq!(held.iter().copied().collect::<BTreeSet<_>>(), named(&Expectation::Always), "{cast}");
    }
    let found: BTreeSet<&str> = verdicts.iter().flat_map(|verdict| verdict.found.iter().copied()).collect();
    assert_eq!(found, named(&Expectation::Sometimes));
}

#[test]
fn an_invariant_that_does_not_hold_is_found_false_and_the_shortest_way_there_is_told() {
    let wrong = || {
        vec![
            Property::<Cast>::always("no order is ever PAID", |_, world| world.order.status != OrderStatus::Paid),
            Property::<Cast>::sometimes("an order is CLOSED", |_, world| world.order.status == OrderStatus::Closed),
        ]
    };
    let stage = Cast { properties: wrong, ..cast("holdings").expect("the cast") };
    let verdict = check(&stage);
    assert_eq!(verdict.held, Vec::<&str>::new());
    assert_eq!(verdict.found, ["an order is CLOSED"]);
    let story = verdict.broken.get("no order is ever PAID").expect("it is broken");
    // The payer pays, a worker reads the order, and writes: nothing shorter leads there.
    assert_eq!(story.steps(), 3, "{story}");
    assert!(story.to_string().lines().last().is_some_and(|line| line.contains("PAID")), "{story}");
}

#[test]
fn every_cast_has_a_name_of_its_own_and_something_to_check() {
    let names: BTreeSet<&str> = CASTS.iter().map(|cast| cast.name).collect();
    assert_eq!(names.len(), CASTS.len());
    assert!(CASTS.iter().all(|cast| cast.only.is_none() && !cast.moments.is_empty()));
}
