//! `GET /orders/{id}` and `POST /orders/{id}/cancel`.

use std::process::ExitCode;
use std::sync::Arc;

use expiry_adjudication::Context;
use expiry_runtime::config::Config;
use expiry_runtime::http::Request;
use expiry_runtime::{boot, sdk};
use lambda_runtime::LambdaEvent;
use order_api::OrderApi;

fn main() -> ExitCode {
    boot::run(async {
        let config = Config::from_env()?;
        let context = Context::in_lambda_with_channels(&config, &sdk::load()).await?;
        let function = Arc::new(OrderApi::new(Arc::new(context)));
        Ok(move |event: LambdaEvent<Request>| {
            let function = Arc::clone(&function);
            async move { Ok::<_, boot::Failure>(function.handle(&event.payload).await) }
        })
    })
}
