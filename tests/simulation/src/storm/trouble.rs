//! Functions die, the stream loses records, reminders are lost, a channel cannot be reached or changes its secret, clocks drift, and
//! somebody sends nonsense.

use std::sync::Arc;
use std::time::Duration;

use expiry_channels::sim::signature::SigningKey;
use expiry_core::decide::{Commit, Then};
use expiry_core::message::Queue;
use expiry_core::order::Order;
use expiry_core::pending::Unit;
use expiry_core::reservation::ResourceKind;
use expiry_core::time::Clock;
use fastrand::Rng;
use local::settings::SIM_SECRET_NAME;
use serde_json::{Value, json};

use super::customers::wait;
use super::plan::Kind;
use super::scene::Scene;

/// Troubles of one run.
const TROUBLES: u64 = 7;
/// Changes of the functions' clock in one run.
const DRIFTS: u64 = 4;
/// Bodies that nobody of ours would send.
const POISON: [&str; 6] = [
    r#"{"type":"overdue","order_id":"nobody"}"#,
    r#"{"type":"wake","order_id":"000000000000000000000000","expire_at":1}"#,
    r#"{"type":"close"}"#,
    r#"{"type":"settle","order_id":"000000000000000000000000","unit":"stock"}"#,
    "\u{0}\u{fffd} not json",
    "[]",
];

/// The troubles of the run.
pub(super) async fn trouble(scene: &Scene) {
    tokio::join!(troubles(scene), drifts(scene));
}

async fn troubles(scene: &Scene) {
    let mut rng = scene.rng("trouble");
    for number in 0..TROUBLES {
        wait(&mut rng, 90_000).await;
        let mut rng = Rng::with_seed(rng.u64(..));
        if scene.happens(Kind::Trouble, number) {
            befalls(scene, &mut rng).await;
        }
    }
}

async fn befalls(scene: &Scene, rng: &mut Rng) {
    match rng.u8(0..10) {
        0..2 => {
            scene.weather.timeline.note("every function dies");
            scene.shop.system.crash();
        }
        2 => {
            scene.weather.timeline.note("the stream is replayed from its beginning");
            scene.shop.system.replay_stream();
        }
        3 => fault(scene, rng, json!({"drop_stream": true})).await,
        4 => fault(scene, rng, json!({"drop_wakes": true})).await,
        5 => fault(scene, rng, json!({"channel_down": ["sim"]})).await,
        6 => put_back(scene, rng).await,
        7 => fault(scene, rng, json!({"send_errors": ["close", "stock-release", "scheduler"]})).await,
        8 => change_secret(scene, rng),
        _ => {
            let queue = Queue::ALL[rng.usize(0..Queue::ALL.len())];
            let body = POISON[rng.usize(0..POISON.len())];
            scene.weather.timeline.note(&format!("somebody sends {body:?} to {queue}"));
            scene.shop.poison(queue, body).await;
        }
    }
}

/// Somebody puts a finished unit of work back by hand: its second delivery must change nothing (I6).
async fn put_back(scene: &Scene, rng: &mut Rng) {
    let orders = scene.watch.orders();
    let finished: Vec<&Order> =
        orders.iter().filter(|order| order.status.is_terminal() && order.pending.is_empty()).collect();
    if finished.is_empty() {
        return;
    }
    let id = &finished[rng.usize(0..finished.len())].id;
    let store = &scene.shop.system.functions.context.store;
    // Whether it is read and written is up to the storm.
    let Ok(Some(before)) = store.load(id).await else { return };
    let mut order = before.order.clone();
    order.version += 1;
    order.pending.insert(Unit::Settle(ResourceKind::Stock));
    order.due_at.get_or_insert(scene.shop.system.clock.now());
    let (on_version, on_status) = (before.order.version, before.order.status);
    let (rows, signals, then) = (Vec::new(), Vec::new(), Then::Done(()));
    let by_hand = Commit { on_version, on_status, after_deadline: None, order, rows, signals, then };
    scene.weather.timeline.note(&format!("somebody puts stock back into the work of {id}"));
    let _ = store.commit(&before, &by_hand).await;
}

/// The channel's secret changes, first with us and a little later with the channel. Whoever does that sees it through, also when the
/// storm is over.
fn change_secret(scene: &Scene, rng: &mut Rng) {
    scene.weather.timeline.note("the channel's secret changes");
    let (secret, mut rng) = (format!("secret-{}", rng.u64(..)), Rng::with_seed(rng.u64(..)));
    let (sim, sdk) = (scene.shop.system.sim.clone(), scene.shop.system.cloud.sdk_config());
    let changing = Arc::clone(&scene.secret);
    tokio::spawn(async move {
        let _alone = changing.lock().await;
        let secrets = aws_sdk_secretsmanager::Client::new(&sdk);
        let put = secrets.put_secret_value().secret_id(SIM_SECRET_NAME).secret_string(&secret);
        put.send().await.expect("the storm spares it");
        wait(&mut rng, 20_000).await;
        sim.change_key(SigningKey::new(&secret).expect("a secret"));
    });
}

async fn fault(scene: &Scene, rng: &mut Rng, faults: Value) {
    scene.does("trouble", "PUT", "/_local/faults", "", faults).await;
    wait(rng, 40_000).await;
    scene.does("trouble", "PUT", "/_local/faults", "", json!({})).await;
}

/// The functions' clock runs apart: within what they tolerate, and now and then beyond it, when they must not act.
async fn drifts(scene: &Scene) {
    let mut rng = scene.rng("clock");
    for number in 0..DRIFTS {
        wait(&mut rng, 150_000).await;
        let ahead = if rng.u8(0..100) < 25 { rng.i64(-30_000..30_000) } else { rng.i64(-1_200..1_200) };
        let span = Duration::from_millis(rng.u64(0..40_000));
        if scene.happens(Kind::Clock, number) {
            scene.weather.timeline.note(&format!("the functions' clock is {ahead} ms ahead"));
            scene.clock.set(ahead);
            tokio::time::sleep(span).await;
            scene.clock.set(0);
        }
    }
}
