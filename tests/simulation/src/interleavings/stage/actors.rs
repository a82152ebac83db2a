//! Who comes on stage: each with functions of its own, behind the gate.

use std::sync::Arc;
use std::time::Duration;

use expiry_adjudication::Surroundings;
use expiry_core::ids::OrderId;
use expiry_core::limits;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::time::{Clock, Timestamp};
use expiry_runtime::metrics::Metrics;
use local::functions::Functions;
use serde_json::json;

use super::payer::Payer;
use super::{Again, Errand, Scene, VISIBILITY};
use crate::interleavings::cast::{Actor, Acts, Heard, Play};
use crate::interleavings::gate::ActorNo;
use crate::interleavings::wire::{GatedChannel, GatedClient};
use crate::random::SeededIds;

impl Scene {
    /// Somebody has a function do `errand`.
    pub(crate) fn sends(&mut self, name: &str, errand: Errand) -> ActorNo {
        let (functions, sent) = (self.functions(), errand.clone());
        self.enter(name, true, Again::Errand(errand), Box::pin(async move { sent.run(&functions).await }))
    }

    /// Somebody begins to pay `order`; no credential may leave that the second write did not find payable (I10): it was decided when
    /// it was sent, and nothing happens between it and the answer.
    pub(crate) fn starts(&mut self, name: &str, order: &OrderId) -> ActorNo {
        let errand = Errand::post(format!("/orders/{order}/payments"), json!({"channel": "sim"}));
        let (functions, sent, watch) = (self.functions(), errand.clone(), self.watch.clone());
        let (gate, no, order) = (self.gate.clone(), self.actors.len(), order.clone());
        let acts = async move {
            let heard = sent.run(&functions).await;
            let decided_at = gate.called_at(no);
            let is_payable = |order: &Order| {
                let in_time = |expire_at: Timestamp| {
                    decided_at.is_some_and(|at| at < expire_at.minus(limits::LAST_CREDENTIAL_BEFORE_EXPIRY))
                };
                order.status == OrderStatus::Paying && order.expire_at.is_none_or(in_time)
            };
            let stored = watch.orders().into_iter().find(|stored| stored.id == order);
            if heard.answer.starts_with("201") && !stored.as_ref().is_some_and(is_payable) {
                watch.report(format!("I10: a credential of {order} has left, and it cannot be paid"));
            }
            heard
        };
        self.enter(name, true, Again::Errand(errand), Box::pin(acts))
    }

    /// The same, once `span` has passed.
    pub(crate) fn sends_after(&mut self, name: &str, span: Duration, errand: Errand) -> ActorNo {
        let (functions, sent) = (self.functions(), errand.clone());
        let (gate, clock, no) = (self.gate.clone(), self.system.clock.clone(), self.actors.len());
        let acts = async move {
            gate.step(no, &format!("{} s pass", span.as_secs()), || clock.advance(span).to_string()).await;
            sent.run(&functions).await
        };
        self.enter(name, true, Again::Errand(errand), Box::pin(acts))
    }

    /// The errand of `dead` again, once its message is visible again.
    pub(crate) fn recovers(&mut self, name: &str, dead: ActorNo, errand: Errand) -> ActorNo {
        let no = self.sends_after(name, VISIBILITY, errand);
        self.actors[no].recovers = Some(dead);
        no
    }

    /// `span` passes at some moment.
    pub(crate) fn time(&mut self, name: &str, span: Duration) -> ActorNo {
        let (gate, clock, no) = (self.gate.clone(), self.system.clock.clone(), self.actors.len());
        let acts = async move {
            gate.step(no, &format!("{} s pass", span.as_secs()), || clock.advance(span).to_string()).await;
            Heard::done("")
        };
        self.enter(name, false, Again::Nobody, Box::pin(acts))
    }

    /// The payer pays if the payment can still be paid, or with `anyway` whatever the channel has said of it; then its callback comes.
    pub(crate) fn pays(&mut self, name: &str, payment: &str, anyway: bool) -> ActorNo {
        let no = self.actors.len();
        let payer = Payer { payment: payment.to_owned(), anyway, notify_id: format!("notify-{no}") };
        let (functions, channel, post) = (self.functions(), self.system.sim.clone(), Arc::clone(&self.post));
        let (gate, paying) = (self.gate.clone(), payer.clone());
        let acts = async move {
            let paid = gate.step(no, "pays", || paying.pay(&channel).to_string()).await;
            if paid != "true" {
                return Heard::done("cannot pay");
            }
            paying.notify(&channel, &post, &functions).await
        };
        self.enter(name, true, Again::Payer(payer), Box::pin(acts))
    }

    /// The scene is set.
    pub(crate) fn play(mut self) -> Play {
        let actors = std::mem::take(&mut self.actors);
        Play { actors, stage: Box::new(self) }
    }

    fn enter(&mut self, name: &str, mortal: bool, again: Again, acts: Acts<'static, Heard>) -> ActorNo {
        self.again.push(again);
        self.actors.push(Actor { name: name.to_owned(), mortal, recovers: None, acts });
        self.actors.len() - 1
    }

    /// Functions of the next actor's own: a process of its own, behind the gate.
    fn functions(&self) -> Functions {
        let actor = self.actors.len();
        let client = GatedClient { gate: self.gate.clone(), actor, cloud: self.system.cloud.http_client() };
        let sdk = self.system.cloud.sdk_config().into_builder().http_client(client).build();
        let clock: Arc<dyn Clock> = Arc::new(self.system.clock.clone());
        let channel = GatedChannel { gate: self.gate.clone(), actor, channel: self.system.sim.clone() };
        let surroundings = Surroundings {
            metrics: Metrics::new(Arc::clone(&clock), Arc::new(|_| ())),
            clock,
            ids: Arc::new(SeededIds::new(1 + actor as u64)),
        };
        Functions::new(&self.settings.config, &sdk, surroundings, Arc::new(channel)).expect("the functions start")
    }
}
