//! Every bound of the system, in one place: sizes, counts, times. A bound that a rule of the design states names it.

use std::time::Duration;

/// Most bytes of a user id.
pub const USER_ID_BYTES: usize = 64;
/// Most bytes of a sku.
pub const SKU_BYTES: usize = 64;
/// Most bytes of a warehouse name.
pub const WAREHOUSE_BYTES: usize = 32;
/// Most bytes of a batch name.
pub const BATCH_BYTES: usize = 32;
/// Most bytes of a coupon id.
pub const COUPON_ID_BYTES: usize = 64;
/// Most bytes of an activity id.
pub const ACTIVITY_ID_BYTES: usize = 64;
/// Most bytes of an expiry rule's id.
pub const RULE_ID_BYTES: usize = 32;
/// Most bytes of an order's source.
pub const SOURCE_BYTES: usize = 32;
/// Most bytes of a channel's name.
pub const CHANNEL_ID_BYTES: usize = 16;
/// Most bytes of a payment method.
pub const METHOD_BYTES: usize = 16;
/// Most bytes of a merchant number.
pub const MERCHANT_ID_BYTES: usize = 32;
/// Most bytes of a channel's transaction id.
pub const TRANSACTION_ID_BYTES: usize = 64;
/// Most bytes of a notification id.
pub const NOTIFY_ID_BYTES: usize = 64;
/// Most bytes of a channel's own reference of a payment.
pub const CHANNEL_REFERENCE_BYTES: usize = 128;
/// Most bytes of a worker's name.
pub const WORKER_ID_BYTES: usize = 16;
/// Most bytes of an operator's name.
pub const OPERATOR_ID_BYTES: usize = 64;
/// Bytes of an order id.
pub const ORDER_ID_BYTES: usize = 24;
/// Most bytes of an `Idempotency-Key` header.
pub const IDEMPOTENCY_KEY_BYTES: usize = 255;
/// Most bytes of a person's reason.
pub const REASON_BYTES: usize = 200;
/// Most bytes kept of the last error of a close, an ask or a refund (DESIGN §6).
pub const LAST_ERROR_BYTES: usize = 80;
/// Most bytes of the session and mandate references of an agent-initiated payment.
pub const INITIATOR_REFERENCE_BYTES: usize = 64;

/// Most minor units of any amount: the largest whole number every JSON reader keeps exact.
pub const AMOUNT: u64 = 9_007_199_254_740_991;
/// Most units of one line, quota or hold, and of a counter's stock.
pub const QUANTITY: u64 = 1_000_000_000;
/// Most lines of an order.
pub const LINES: usize = 50;
/// Most quotas of an order.
pub const QUOTAS: usize = 10;
/// Most payment attempts of an order.
pub const ATTEMPTS: usize = 20;
/// Most status changes kept on the order itself; the older ones stand in its `E#` rows (DESIGN §6).
pub const EVIDENCE: usize = 5;
/// Longest payment window, 366 days (DESIGN §8).
pub const WINDOW_SECONDS: u64 = 31_622_400;
/// Most expiry rules.
pub const EXPIRY_RULES: usize = 100;

/// No credential leaves from this long before `expire_at` on (I10).
pub const LAST_CREDENTIAL_BEFORE_EXPIRY: Duration = Duration::from_secs(1);
/// The expiry path acts from this long after `expire_at` on (DESIGN §5.1).
pub const EXPIRY_SETTLE_TIME: Duration = Duration::from_millis(500);
/// How long a credential of an order that never expires lives (DESIGN §5, rule `never`).
pub const NEVER_RULE_CREDENTIAL: Duration = Duration::from_secs(2 * 3_600);
/// How long after the credential's expiry `NOT_FOUND` may begin to mean "never" (CHANNELS rule NF(b)).
pub const NOT_FOUND_GRACE: Duration = Duration::from_secs(600);
/// How far apart two `NOT_FOUND` answers must have been asked (CHANNELS rule NF(b)).
pub const NOT_FOUND_APART: Duration = Duration::from_secs(60);
/// When a result that is not known yet is asked for again (DESIGN §5.4); afterwards once a scan period.
pub const RETRY_RHYTHM: [Duration; 7] = [
    Duration::from_secs(10),
    Duration::from_secs(30),
    Duration::from_secs(60),
    Duration::from_secs(120),
    Duration::from_secs(300),
    Duration::from_secs(600),
    Duration::from_secs(900),
];
/// Longest delay of a queue message (SQS), so the longest wait the stream turns into one (DESIGN §5.5).
pub const QUEUE_DELAY: Duration = Duration::from_secs(900);
/// Added to a delayed close message, so that it finds its moment passed (DESIGN §5.5).
pub const CHECK_DELAY_MARGIN: Duration = Duration::from_secs(2);
/// A schedule is armed this long ahead: the Scheduler fires anywhere within the minute after its time (DESIGN §5).
pub const SCHEDULE_AHEAD: Duration = Duration::from_secs(60);
/// What is due within this time gets a delayed message instead of a schedule (DESIGN §5).
pub const SCHEDULE_HORIZON: Duration = Duration::from_secs(120);
/// How often a schedule that could not be created is tried again before the scan is left to wake the order (DESIGN §5).
pub const SCHEDULE_HOPS: u8 = 8;
/// A `due_at` further ahead than this is moved to now by a commit that leaves work (DESIGN §6).
pub const DUE_AHEAD: Duration = Duration::from_secs(3_600);
/// Shards of the due index (DESIGN §6).
pub const DUE_SHARDS: u8 = 16;
/// Most questions one run puts to channels: each may take three calls, and the run must end before its function does.
pub const QUESTIONS: usize = 4;
/// How often one run reads, asks and decides again before it leaves the order to the next one.
pub const DECISION_ROUNDS: usize = 12;
/// Highest `k` of a refund number.
pub const REFUND_NUMBERS: u8 = 99;
/// Most units of a counter, sold ones included.
pub const COUNTER: u64 = 1_000_000_000_000;
