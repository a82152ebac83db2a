//! Why a status changed, stored in the same write as the change (I11).

use crate::closing::CloseTrigger;
use crate::fact::Cause;
use crate::ids::AttemptNo;
use crate::order::OrderStatus;
use crate::time::Timestamp;

/// What set a transition off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The order was created.
    Create,
    /// A payment was started.
    Payment,
    /// A channel's notification.
    Callback,
    /// An answer to a question of ours.
    Query,
    /// A close run.
    Close(CloseTrigger),
}

impl Trigger {
    /// Its name where it is stored and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Trigger::Create => "create",
            Trigger::Payment => "payment",
            Trigger::Callback => "callback",
            Trigger::Query => "query",
            Trigger::Close(trigger) => trigger.name(),
        }
    }
}

/// The fact that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecidingFact {
    /// There is nothing to pay.
    NothingToPay,
    /// The attempt of this number was begun.
    AttemptBegun(AttemptNo),
    /// `expire_at` had passed.
    DeadlinePassed,
    /// Somebody asked for it, with a reason.
    Asked(Cause),
    /// Every attempt is settled without money that counts in full.
    AttemptsSettled,
    /// The trusted success of this attempt, found by asking the channel.
    QueriedSuccess(AttemptNo),
    /// The trusted success of this attempt, told by the channel.
    NotifiedSuccess(AttemptNo),
}

impl DecidingFact {
    /// Its text where it is stored and shown.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            DecidingFact::NothingToPay => "nothing to pay".to_owned(),
            DecidingFact::AttemptBegun(n) => format!("begun {n}"),
            DecidingFact::DeadlinePassed => "deadline".to_owned(),
            DecidingFact::Asked(reason) => format!("asked: {reason}"),
            DecidingFact::AttemptsSettled => "settled".to_owned(),
            DecidingFact::QueriedSuccess(n) => format!("queried success {n}"),
            DecidingFact::NotifiedSuccess(n) => format!("notified success {n}"),
        }
    }
}

/// Why a commit is made: becomes [`Evidence`] when it changes the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Because {
    /// What set it off.
    pub trigger: Trigger,
    /// Who: `system`, `customer`, a channel, or an operator's name.
    pub actor: Actor,
    /// On what ground.
    pub fact: DecidingFact,
}

/// Who is behind a transition. `system` is not stored: it is what stands there when nobody else does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Actor {
    /// The system by itself.
    #[default]
    System,
    /// The shop's customer.
    Customer,
    /// A payment channel, or a person of the shop, by name.
    Named(String),
}

/// A status change, with what set it off and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Evidence {
    /// The version that the change made.
    pub version: u64,
    /// When.
    pub at: Timestamp,
    /// To which status.
    pub to: OrderStatus,
    /// What set it off.
    pub trigger: String,
    /// Who.
    pub actor: Actor,
    /// On what ground.
    pub fact: String,
}
