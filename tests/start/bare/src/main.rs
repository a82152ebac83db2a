//! A function that does nothing: what every start of a Rust function on Lambda takes, against which the others are measured
//! (tests/start/run.sh).

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::Value;

fn main() -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(lambda_runtime::run(service_fn(async |_: LambdaEvent<Value>| Ok::<_, Error>(Value::Null))))
}
