//! Every drill with a few orders; `cargo run --profile sim -p simulation -- drills` plays them with more.

use simulation::drills::DRILLS;

/// Orders of one drill.
const ORDERS: usize = 8;

#[test]
fn after_every_large_outage_everything_is_closed_and_given_back_within_its_time() {
    for drill in DRILLS {
        let report = drill.play(ORDERS);
        assert!(report.breaches.is_empty(), "{}: {:#?}", drill.name, report.breaches);
        assert_eq!(report.orders, ORDERS);
    }
}
