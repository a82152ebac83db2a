//! The wake-up and the scan's message close the same order, and the lease of the first may end at any moment: a worker that was
//! asleep writes on as if nothing had happened.

use std::time::Duration;

use expiry_core::message::{Message, Queue};

use crate::interleavings::cast::{Cast, Play};
use crate::interleavings::gate::Gate;
use crate::interleavings::stage::{Errand, LEASE, Scene, WINDOW};

pub(super) const CAST: Cast =
    Cast { name: "closer+closer", crashes: 1, lost_answers: 0, ends: &["CLOSED"], open: |gate| Box::pin(open(gate)) };

async fn open(gate: Gate) -> Play {
    let mut scene = Scene::open(gate, 1).await;
    let order = scene.order().await;
    scene.payment(&order, "card").await;
    scene.pass(WINDOW + Duration::from_secs(1));
    scene.sends("closer", scene.wake(&order));
    scene.sends("second closer", Errand::Message(Queue::Close, Message::Overdue { order_id: order }));
    scene.time("time", LEASE + Duration::from_secs(1));
    scene.play()
}
