//! One seed is one run. In a file of its own: runs that other threads of the process play at the same time would stand beside it.

use std::collections::BTreeSet;

use simulation::storm;

#[test]
fn the_same_seed_gives_the_same_timeline_byte_for_byte_whatever_ran_before_it() {
    let run = |seed| storm::run(seed, &BTreeSet::new());
    // An honest channel and a capricious one.
    let first = [run(4), run(5)];
    let second = [run(4), run(5)];
    for (first, second) in first.iter().zip(&second) {
        assert!(first.timeline.len() > 200, "something happens: {} lines", first.timeline.len());
        for (number, (line, other)) in first.timeline.iter().zip(&second.timeline).enumerate() {
            assert_eq!(line, other, "line {number}");
        }
        assert_eq!(first.timeline.len(), second.timeline.len());
        assert_eq!((first.calls, &first.disturbances), (second.calls, &second.disturbances));
    }
}
