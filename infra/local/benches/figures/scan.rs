//! What the fallback scan costs when many orders are open and the same number of them is due.

use std::time::{Duration, Instant};

use expiry_core::decide::create::{NewLine, NewOrder, create};
use expiry_core::expiry_rule::{ExpiryRules, RuleDefinition};
use expiry_core::ids::{Batch, IdSource, OrderId, RuleId, Sku, UserId, Warehouse};
use expiry_core::money::{Amount, Currency};
use expiry_core::reservation::{Quantity, StockKey};
use expiry_core::time::Clock;
use expiry_runtime::ids::SystemIds;

use crate::scene::{Scene, ratio};

/// Orders that are due.
const DUE: usize = 200;
/// Measurements of each size; the best is compared.
const ROUNDS: usize = 7;

pub(crate) async fn measure() {
    println!("## Scan: {DUE} orders due, among many that are open\n");
    println!("| open orders | one scan | ratio |\n|---|---|---|");
    let few = scan_of(1_000).await;
    println!("| 1,000 | {} µs | 1.00 |", few.as_micros());
    let many = scan_of(100_000).await;
    println!("| 100,000 | {} µs | {} |\n", many.as_micros(), ratio(many, few));
}

async fn scan_of(open: usize) -> Duration {
    let rules = r#"[{"id":"default","version":1,"seconds":31622400},{"id":"soon","version":1,"seconds":60}]"#;
    let scene = Scene::new(&[("EXPIRY_RULES", rules)]).await;
    scene.stock("SKU", 1_000_000).await;
    let definitions: Vec<RuleDefinition> = serde_json::from_str(rules).unwrap();
    let rules = ExpiryRules::new(definitions).unwrap();
    let store = &scene.functions.context.store;
    for n in 0..open {
        let rule = if n < DUE { "soon" } else { "default" };
        let creation = create(order(rule), &rules, None, scene.clock.now()).unwrap();
        store.create(&creation).await.unwrap();
    }
    scene.clock.advance(Duration::from_secs(600));
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let scanned =
            scene.functions.fallback_scan.handle(scene.clock.now().plus(Duration::from_secs(900))).await.unwrap();
        best = best.min(began.elapsed());
        assert_eq!((scanned.found, scanned.sent), (DUE as u64, DUE as u64));
    }
    best
}

fn order(rule: &str) -> NewOrder {
    NewOrder {
        id: OrderId::from_bits(SystemIds.unique()),
        body_digest: [0; 16],
        user: UserId::new("u").unwrap(),
        currency: Currency::parse("CNY").unwrap(),
        lines: vec![NewLine {
            stock: StockKey {
                sku: Sku::new("SKU").unwrap(),
                warehouse: Warehouse::new("default").unwrap(),
                batch: Batch::new("default").unwrap(),
            },
            quantity: Quantity::new(1).unwrap(),
            unit_price: Amount::new(1_000).unwrap(),
        }],
        coupon: None,
        points: None,
        quotas: Vec::new(),
        payable: Amount::new(1_000).unwrap(),
        rule: RuleId::new(rule).unwrap(),
        source: None,
    }
}
