//! The queue `refund`.

use std::process::ExitCode;
use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use expiry_adjudication::Context;
use expiry_core::message::Queue;
use expiry_runtime::config::Config;
use expiry_runtime::queues::Queues;
use expiry_runtime::{boot, sdk};
use lambda_runtime::LambdaEvent;
use refund_payment::RefundPayment;

fn main() -> ExitCode {
    boot::run(async {
        let config = Config::from_env()?;
        let sdk = sdk::load();
        let context = Context::in_lambda_with_channels(&config, &sdk).await?;
        let queues = Queues::new(aws_sdk_sqs::Client::new(&sdk), config.queue_urls(&[Queue::Refund])?);
        let function = Arc::new(RefundPayment::new(Arc::new(context), queues));
        Ok(move |event: LambdaEvent<SqsEvent>| {
            let function = Arc::clone(&function);
            async move { function.handle(event.payload).await }
        })
    })
}
