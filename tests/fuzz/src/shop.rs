//! The functions of a shop over [`Aws`], on a clock that stands still.

use std::cell::LazyCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use admin_api::AdminApi;
use close_order::CloseOrder;
use create_order::CreateOrder;
use expiry_adjudication::{Context, Surroundings};
use expiry_channels::{ChannelTransport, HttpRequest, TransportError, TransportFuture};
use expiry_core::ids::IdSource;
use expiry_core::message::Queue;
use expiry_core::time::{Clock, Timestamp};
use expiry_runtime::config::Config;
use expiry_runtime::metrics::Metrics;
use expiry_runtime::queues::Queues;
use expiry_runtime::schedules::WakeSchedules;
use order_api::OrderApi;
use outbox_fanout::OutboxFanout;
use payment_callback::PaymentCallback;
use refund_payment::RefundPayment;
use settle_resources::SettleResources;
use start_payment::StartPayment;
use tokio::runtime::Runtime;

use crate::aws::Aws;

/// What the channel `sim` signs with.
pub(crate) const SECRET: &str = "sim-secret";
/// When everything happens, in seconds: 2026-01-01T00:00:00Z.
pub(crate) const NOW: i64 = 1_767_225_600;

pub(crate) fn now() -> Timestamp {
    Timestamp::from_seconds(NOW).expect("a time")
}

/// A clock that shows [`NOW`].
#[derive(Debug)]
pub(crate) struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        now()
    }
}

/// Identifiers by counting.
#[derive(Debug, Default)]
pub(crate) struct Counted(AtomicU64);

impl IdSource for Counted {
    fn unique(&self) -> [u8; 15] {
        let mut bits = [0; 15];
        bits[..8].copy_from_slice(&self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        bits
    }
}

/// A channel that nobody reaches: what it could answer is a target of its own.
#[derive(Debug)]
struct Silent;

impl ChannelTransport for Silent {
    fn send(&self, _: HttpRequest, deadline: Duration) -> TransportFuture<'_> {
        Box::pin(async move { Err(TransportError::Timeout(deadline)) })
    }
}

/// Every function that reads what others wrote.
pub(crate) struct Shop {
    pub(crate) aws: Aws,
    pub(crate) context: Arc<Context>,
    pub(crate) create_order: CreateOrder,
    pub(crate) order_api: OrderApi,
    pub(crate) start_payment: StartPayment,
    pub(crate) payment_callback: PaymentCallback,
    pub(crate) admin_api: AdminApi,
    pub(crate) outbox_fanout: OutboxFanout,
    pub(crate) close_order: CloseOrder,
    pub(crate) settle_resources: SettleResources,
    pub(crate) refund_payment: RefundPayment,
    runtime: Runtime,
}

thread_local! {
    static SHOP: LazyCell<Shop> = const { LazyCell::new(Shop::open) };
}

/// Does `act` in the shop of this thread, as it was opened but for what the database holds.
pub(crate) fn in_shop<T>(act: impl FnOnce(&Shop) -> T) -> T {
    SHOP.with(|shop| {
        shop.aws.holds(serde_json::Value::Null);
        drop(shop.aws.take_put());
        act(shop)
    })
}

impl Shop {
    /// Lets `future` end.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    fn open() -> Shop {
        let aws = Aws::default();
        let clock: Arc<dyn Clock> = Arc::new(Still);
        let metrics = Metrics::new(Arc::clone(&clock), Arc::new(|_| {}));
        let surroundings =
            Surroundings { clock: Arc::clone(&clock), ids: Arc::new(Counted::default()), metrics: metrics.clone() };
        let config = Config::from_lookup(&setting).expect("a configuration");
        let sdk = aws.sdk_config();
        let context = Arc::new(Context::new(&config, &sdk, surroundings, Arc::new(Silent)).expect("a context"));
        let queues = || {
            let urls = config.queue_urls(&Queue::ALL).expect("the queues");
            Queues::new(aws_sdk_sqs::Client::new(&sdk), urls)
        };
        let schedules = WakeSchedules::new(
            aws_sdk_scheduler::Client::new(&sdk),
            config.scheduler().expect("the scheduler").clone(),
        );
        Shop {
            create_order: CreateOrder::new(Arc::clone(&context), &config),
            order_api: OrderApi::new(Arc::clone(&context)),
            start_payment: StartPayment::new(Arc::clone(&context)),
            payment_callback: PaymentCallback::new(Arc::clone(&context)),
            admin_api: AdminApi::new(Arc::clone(&context)),
            outbox_fanout: OutboxFanout::new(clock, metrics, queues(), schedules.clone()),
            close_order: CloseOrder::new(Arc::clone(&context), queues(), schedules),
            settle_resources: SettleResources::new(Arc::clone(&context), queues()),
            refund_payment: RefundPayment::new(Arc::clone(&context), queues()),
            aws,
            context,
            runtime: tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime"),
        }
    }
}

fn setting(variable: &str) -> Option<String> {
    let value = match variable {
        "ORDERS_TABLE" => "orders",
        "RESOURCES_TABLE" => "resources",
        "CHANNELS" => "sim",
        "SIM_CHANNEL_URL" => "http://sim.test",
        "SIM_CHANNEL_SECRET_ID" => "sim",
        "SCHEDULE_GROUP" => "orders",
        "SCHEDULE_ROLE_ARN" => "arn:aws:iam::000000000000:role/schedules",
        "CLOSE_QUEUE_ARN" => "arn:aws:sqs:eu-central-1:000000000000:close",
        queue if queue.ends_with("_QUEUE_URL") => "https://sqs.eu-central-1.amazonaws.com/000000000000/queue",
        _ => return None,
    };
    Some(value.to_owned())
}
