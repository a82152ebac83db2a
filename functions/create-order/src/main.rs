//! `POST /orders`.

use std::process::ExitCode;
use std::sync::Arc;

use create_order::CreateOrder;
use expiry_adjudication::Context;
use expiry_runtime::config::Config;
use expiry_runtime::http::Request;
use expiry_runtime::{boot, sdk};
use lambda_runtime::LambdaEvent;

fn main() -> ExitCode {
    boot::run(async {
        let config = Config::from_env()?;
        let context = Context::in_lambda(&config, &sdk::load()).await;
        let function = Arc::new(CreateOrder::new(Arc::new(context), &config));
        Ok(move |event: LambdaEvent<Request>| {
            let function = Arc::clone(&function);
            async move { Ok::<_, boot::Failure>(function.handle(&event.payload).await) }
        })
    })
}
