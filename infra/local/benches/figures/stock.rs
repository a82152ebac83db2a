//! Creating orders on one stock row beside creating them on many.

use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use crate::scene::{Scene, http_event, ok, order_body, per_second, ratio};

/// Orders of one measurement.
const ORDERS: usize = 1_000;
/// Creates under way at once.
const AT_ONCE: usize = 16;
/// Measurements; the best of each is compared.
const ROUNDS: usize = 3;

pub(crate) async fn measure() {
    let (mut one, mut many) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        one = one.min(create(1).await);
        many = many.min(create(100).await);
    }
    println!("## Creates, {AT_ONCE} at once, on the embedded database\n");
    println!("| stock rows | per second | ratio |\n|---|---|---|");
    println!("| 100 | {} | 1.00 |", per_second(ORDERS, many));
    println!("| 1 | {} | {} |\n", per_second(ORDERS, one), ratio(one, many));
    println!(
        "The embedded database writes one transaction after the other, so a single row costs nothing extra here. DynamoDB"
    );
    println!(
        "conflicts on it: one row takes about 500 transactional creates a second; goods hotter than that need several rows"
    );
    println!("(`warehouse` or `batch` as the shard).\n");
}

async fn create(rows: usize) -> Duration {
    let scene = Scene::new(&[]).await;
    for row in 0..rows {
        scene.stock(&format!("SKU-{row}"), 1_000_000).await;
    }
    let requests: Vec<_> = (0..ORDERS)
        .map(|n| {
            let body = order_body(&format!("u{n}"), &format!("SKU-{}", n % rows), &json!({}));
            http_event("POST", "/orders", Value::Null, &body)
        })
        .collect();
    let began = Instant::now();
    let creates = stream::iter(&requests).map(|request| scene.functions.create_order.handle(request));
    let answers: Vec<_> = creates.buffer_unordered(AT_ONCE).collect().await;
    let span = began.elapsed();
    answers.iter().for_each(|answer| {
        ok(answer, 201);
    });
    span
}
