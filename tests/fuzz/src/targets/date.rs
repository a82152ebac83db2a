//! The `Date` of the database's answers, by which the clock is judged.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use expiry_core::time::Timestamp;
use expiry_runtime::skew::SkewGuard;

use crate::aws::Aws;
use crate::shop::{Still, in_shop, now};

/// A clock is trusted only by a date that names it: [`now`](crate::shop::now) is 2026-01-01 at midnight, and a date may differ by
/// 1.5 s, itself a second wide.
pub(crate) fn database_date(bytes: &[u8]) {
    let aws = Aws::default();
    let guard = SkewGuard::new(Arc::new(Still));
    let database = Builder::from(&aws.sdk_config()).interceptor(guard.interceptor()).build();
    let client = Client::from_conf(database);
    aws.dates(bytes);
    let read = client.get_item().table_name("orders").key("pk", aws_sdk_dynamodb::types::AttributeValue::S("O".into()));
    in_shop(|shop| assert!(shop.wait(read.send()).is_ok()));
    if guard.trusted_now().is_ok() {
        let date = String::from_utf8_lossy(bytes);
        let names = |seconds: i64| {
            let at = Timestamp::from_seconds(now().as_seconds() + seconds).expect("a time").to_string();
            date.contains(&at[11..19])
        };
        assert!((-2..=1).any(names), "{date:?} was taken for now");
    }
}
