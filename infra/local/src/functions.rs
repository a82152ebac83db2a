//! The ten functions, each with what it is given in the cloud.

use std::sync::Arc;

use admin_api::AdminApi;
use aws_config::SdkConfig;
use close_order::CloseOrder;
use create_order::CreateOrder;
use expiry_adjudication::{Context, Surroundings};
use expiry_channels::ChannelTransport;
use expiry_core::message::Queue;
use expiry_core::time::Clock;
use expiry_runtime::boot::StartError;
use expiry_runtime::config::Config;
use expiry_runtime::metrics::Metrics;
use expiry_runtime::queues::Queues;
use expiry_runtime::schedules::WakeSchedules;
use fallback_scan::FallbackScan;
use order_api::OrderApi;
use outbox_fanout::OutboxFanout;
use payment_callback::PaymentCallback;
use refund_payment::RefundPayment;
use settle_resources::SettleResources;
use start_payment::StartPayment;

/// The functions of DESIGN §7, over one context.
#[derive(Debug)]
pub struct Functions {
    /// What all of them work with.
    pub context: Arc<Context>,
    /// `POST /orders`.
    pub create_order: CreateOrder,
    /// `GET /orders/{id}`, `POST /orders/{id}/cancel`.
    pub order_api: OrderApi,
    /// `POST /orders/{id}/payments`.
    pub start_payment: StartPayment,
    /// `POST /webhooks/{channel}`.
    pub payment_callback: PaymentCallback,
    /// The stream of the orders table.
    pub outbox_fanout: OutboxFanout,
    /// The queue `close`.
    pub close_order: CloseOrder,
    /// The four release queues.
    pub settle_resources: SettleResources,
    /// The queue `refund`.
    pub refund_payment: RefundPayment,
    /// The hourly scan.
    pub fallback_scan: FallbackScan,
    /// `/admin/*`.
    pub admin_api: AdminApi,
}

impl Functions {
    /// Builds every function as its `main.rs` does, with `transport` as the way to payment channels.
    ///
    /// # Errors
    /// When a setting that a function needs is missing.
    pub fn new(
        config: &Config,
        sdk: &SdkConfig,
        surroundings: Surroundings,
        transport: Arc<dyn ChannelTransport>,
    ) -> Result<Functions, StartError> {
        let clock: Arc<dyn Clock> = Arc::clone(&surroundings.clock);
        let metrics: Metrics = surroundings.metrics.clone();
        let context = Arc::new(Context::new(config, sdk, surroundings, transport)?);
        let sqs = aws_sdk_sqs::Client::new(sdk);
        let scheduler = aws_sdk_scheduler::Client::new(sdk);
        let queues = |needed: &[Queue]| -> Result<Queues, StartError> {
            Ok(Queues::new(sqs.clone(), config.queue_urls(needed)?))
        };
        let schedules = WakeSchedules::new(scheduler, config.scheduler()?.clone());
        let releases = [Queue::StockRelease, Queue::CouponRelease, Queue::PointsRelease, Queue::QuotaRelease];
        Ok(Functions {
            create_order: CreateOrder::new(Arc::clone(&context), config),
            order_api: OrderApi::new(Arc::clone(&context)),
            start_payment: StartPayment::new(Arc::clone(&context)),
            payment_callback: PaymentCallback::new(Arc::clone(&context)),
            outbox_fanout: OutboxFanout::new(clock, metrics, queues(&Queue::ALL)?, schedules.clone()),
            close_order: CloseOrder::new(Arc::clone(&context), queues(&[Queue::Close])?, schedules),
            settle_resources: SettleResources::new(Arc::clone(&context), queues(&releases)?),
            refund_payment: RefundPayment::new(Arc::clone(&context), queues(&[Queue::Refund])?),
            fallback_scan: FallbackScan::new(Arc::clone(&context), queues(&Queue::ALL)?, config.scan_grace),
            admin_api: AdminApi::new(Arc::clone(&context)),
            context,
        })
    }
}
