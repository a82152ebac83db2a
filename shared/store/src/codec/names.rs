//! Every attribute name of the order item, in one table: short where they are stored, readable everywhere else.
//!
//! The table also says what this version of the program knows: whatever else an item carries, at any depth, survives a write.

/// The attributes of one map that this program knows.
#[derive(Debug)]
pub(super) struct Shape {
    /// Each name with the shape of what it holds: a map, or a list of maps.
    pub(super) known: &'static [(&'static str, Option<&'static Shape>)],
    /// The attribute by which elements of a list of this shape are matched; by their place when there is none.
    pub(super) key: Option<&'static str>,
}

/// Partition key of every row.
pub const PK: &str = "pk";
/// Sort key of every row of the orders table.
pub const SK: &str = "sk";
/// Partition key of the due index: the shard.
pub const DUE_SHARD: &str = "ds";
/// Sort key of the due index: milliseconds.
pub const DUE_AT: &str = "da";
/// When DynamoDB may delete the row: seconds.
pub const TTL: &str = "tt";

pub(crate) const VERSION: &str = "v";
pub(crate) const STATUS: &str = "s";
pub(crate) const EXPIRE_AT: &str = "xa";
/// The token of the last write: how a write whose answer was lost recognises itself.
pub(crate) const OPERATION: &str = "op";
pub(super) const USER: &str = "u";
pub(super) const CURRENCY: &str = "c";
pub(super) const PAYABLE: &str = "p";
pub(super) const CREATED_AT: &str = "ca";
pub(super) const RULE: &str = "r";
pub(super) const RULE_VERSION: &str = "rv";
pub(super) const SOURCE: &str = "so";
pub(super) const BODY_DIGEST: &str = "bd";
pub(super) const LINES: &str = "l";
pub(super) const COUPON: &str = "co";
pub(super) const POINTS: &str = "po";
pub(super) const QUOTAS: &str = "q";
pub(super) const COUNTED_OPEN: &str = "oc";
pub(super) const ATTEMPTS: &str = "a";
pub(super) const PENDING: &str = "w";
pub(super) const CLOSING: &str = "cl";
pub(super) const ASKING: &str = "ak";
pub(super) const CLOSE_REASON: &str = "cr";
pub(super) const CLOSED_AT: &str = "cx";
pub(super) const PAID_AT: &str = "px";
pub(super) const EVIDENCE: &str = "e";

pub(super) static ORDER: Shape = Shape {
    known: &[
        (PK, None),
        (SK, None),
        (DUE_SHARD, None),
        (DUE_AT, None),
        (OPERATION, None),
        (VERSION, None),
        (STATUS, None),
        (USER, None),
        (CURRENCY, None),
        (PAYABLE, None),
        (CREATED_AT, None),
        (EXPIRE_AT, None),
        (RULE, None),
        (RULE_VERSION, None),
        (SOURCE, None),
        (BODY_DIGEST, None),
        (LINES, Some(&LINE)),
        (COUPON, Some(&COUPON_HOLD)),
        (POINTS, Some(&POINTS_HOLD)),
        (QUOTAS, Some(&QUOTA_HOLD)),
        (COUNTED_OPEN, None),
        (ATTEMPTS, Some(&ATTEMPT)),
        (PENDING, None),
        (CLOSING, Some(&TASK)),
        (ASKING, Some(&TASK)),
        (CLOSE_REASON, None),
        (CLOSED_AT, None),
        (PAID_AT, None),
        (EVIDENCE, Some(&EVIDENCE_ENTRY)),
    ],
    key: None,
};

pub(super) mod line {
    pub(crate) const SKU: &str = "k";
    /// Left out when it is `default`.
    pub(crate) const WAREHOUSE: &str = "w";
    /// Left out when it is `default`.
    pub(crate) const BATCH: &str = "b";
    pub(crate) const QUANTITY: &str = "q";
    pub(crate) const UNIT_PRICE: &str = "p";
    /// Left out when it is RESERVED; shared by points and quotas.
    pub(crate) const HOLD: &str = "h";
}

static LINE: Shape = Shape {
    known: &[
        (line::SKU, None),
        (line::WAREHOUSE, None),
        (line::BATCH, None),
        (line::QUANTITY, None),
        (line::UNIT_PRICE, None),
        (line::HOLD, None),
    ],
    key: None,
};

pub(super) mod coupon {
    pub(crate) const ID: &str = "i";
    /// Left out when it is LOCKED.
    pub(crate) const STATUS: &str = "s";
    pub(crate) const REASON: &str = "r";
}

static COUPON_HOLD: Shape =
    Shape { known: &[(coupon::ID, None), (coupon::STATUS, None), (coupon::REASON, None)], key: None };

static POINTS_HOLD: Shape = Shape { known: &[(line::QUANTITY, None), (line::HOLD, None)], key: None };

pub(super) const ACTIVITY: &str = "a";

static QUOTA_HOLD: Shape = Shape { known: &[(ACTIVITY, None), (line::QUANTITY, None), (line::HOLD, None)], key: None };

pub(super) mod attempt {
    pub(crate) const CHANNEL: &str = "c";
    pub(crate) const MERCHANT: &str = "m";
    pub(crate) const METHOD: &str = "t";
    pub(crate) const AMOUNT: &str = "a";
    /// Left out when it is the customer.
    pub(crate) const AGENT: &str = "i";
    pub(crate) const STATUS: &str = "s";
    pub(crate) const PLACE_BEFORE: &str = "b";
    pub(crate) const REPLACED: &str = "d";
    pub(crate) const ASKED_EXPIRY: &str = "x";
    pub(crate) const CHANNEL_EXPIRY: &str = "y";
    pub(crate) const REFERENCE: &str = "r";
    pub(crate) const FIRST_NOT_FOUND: &str = "n";
    pub(crate) const RECEIPT: &str = "k";
    pub(crate) const REFUND: &str = "f";
}

static ATTEMPT: Shape = Shape {
    known: &[
        (attempt::CHANNEL, None),
        (attempt::MERCHANT, None),
        (attempt::METHOD, None),
        (attempt::AMOUNT, None),
        (attempt::AGENT, Some(&AGENT)),
        (attempt::STATUS, None),
        (attempt::PLACE_BEFORE, None),
        (attempt::REPLACED, None),
        (attempt::ASKED_EXPIRY, None),
        (attempt::CHANNEL_EXPIRY, None),
        (attempt::REFERENCE, None),
        (attempt::FIRST_NOT_FOUND, None),
        (attempt::RECEIPT, Some(&RECEIPT)),
        (attempt::REFUND, Some(&REFUND)),
    ],
    key: None,
};

pub(super) mod agent {
    pub(crate) const PROTOCOL: &str = "p";
    pub(crate) const SESSION: &str = "s";
    pub(crate) const MANDATE: &str = "m";
}

static AGENT: Shape =
    Shape { known: &[(agent::PROTOCOL, None), (agent::SESSION, None), (agent::MANDATE, None)], key: None };

pub(super) mod receipt {
    pub(crate) const TRANSACTION: &str = "t";
    /// Left out when it is the attempt's.
    pub(crate) const AMOUNT: &str = "a";
    /// Left out when it is the order's.
    pub(crate) const CURRENCY: &str = "c";
    /// Left out when it counts.
    pub(crate) const STANDING: &str = "s";
}

static RECEIPT: Shape = Shape {
    known: &[
        (receipt::TRANSACTION, None),
        (receipt::AMOUNT, None),
        (receipt::CURRENCY, None),
        (receipt::STANDING, None),
    ],
    key: None,
};

pub(super) mod refund {
    pub(crate) const AMOUNT: &str = "a";
    /// Left out when it is the order's.
    pub(crate) const CURRENCY: &str = "c";
    /// Left out when it is 1.
    pub(crate) const K: &str = "k";
    pub(crate) const STATUS: &str = "s";
    /// Left out while its present number was never sent.
    pub(crate) const SENT: &str = "d";
    pub(crate) const TRIES: &str = "n";
    pub(crate) const NEXT: &str = "x";
    pub(crate) const OWNER: &str = "o";
    pub(crate) const ERROR: &str = "e";
}

static REFUND: Shape = Shape {
    known: &[
        (refund::AMOUNT, None),
        (refund::CURRENCY, None),
        (refund::K, None),
        (refund::STATUS, None),
        (refund::SENT, None),
        (refund::TRIES, None),
        (refund::NEXT, None),
        (refund::OWNER, None),
        (refund::ERROR, None),
    ],
    key: None,
};

/// The close task and the ask task.
pub(super) mod task {
    pub(crate) const STARTED_AT: &str = "s";
    pub(crate) const TRIGGER: &str = "t";
    pub(crate) const ATTEMPTS: &str = "n";
    pub(crate) const NEXT: &str = "x";
    pub(crate) const OWNER: &str = "o";
    pub(crate) const ATTENTION: &str = "a";
    pub(crate) const ERROR: &str = "e";
}

static TASK: Shape = Shape {
    known: &[
        (task::STARTED_AT, None),
        (task::TRIGGER, None),
        (task::ATTEMPTS, None),
        (task::NEXT, None),
        (task::OWNER, None),
        (task::ATTENTION, None),
        (task::ERROR, None),
    ],
    key: None,
};

pub(super) mod evidence {
    pub(crate) const VERSION: &str = "v";
    pub(crate) const AT: &str = "a";
    pub(crate) const TO: &str = "s";
    pub(crate) const TRIGGER: &str = "t";
    /// Left out when it is the system.
    pub(crate) const ACTOR: &str = "w";
    pub(crate) const FACT: &str = "f";
}

static EVIDENCE_ENTRY: Shape = Shape {
    known: &[
        (evidence::VERSION, None),
        (evidence::AT, None),
        (evidence::TO, None),
        (evidence::TRIGGER, None),
        (evidence::ACTOR, None),
        (evidence::FACT, None),
    ],
    key: Some(evidence::VERSION),
};
