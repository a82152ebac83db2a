use std::time::Duration;

use aws_sdk_scheduler::types::{FlexibleTimeWindow, FlexibleTimeWindowMode, Target};

use super::{scene, scene_of, start};
use crate::clock::MovableClock;
use crate::cloud::CloudConfig;

const WAKE: &str = r#"{"type":"wake","order_id":"o-1"}"#;

#[tokio::test]
async fn a_one_time_schedule_sends_its_input_within_the_minute_after_its_time_and_is_gone() {
    let scene = scene();
    let url = scene.queue("close", &[]).await;
    let at = start().plus(Duration::from_secs(1_740));
    scene.schedule("o-1", at, WAKE).send().await.expect("created");
    let view = scene.cloud.schedules().remove(0);
    assert_eq!((view.name.as_str(), view.group.as_str(), view.input.as_str()), ("o-1", "default", WAKE));
    let fires = expiry_core::time::Timestamp::parse_rfc3339(&view.fires_at.expect("armed")).expect("a time");
    assert!(fires >= at && fires.since(at) < Duration::from_secs(60), "{fires}");

    scene.cloud.clock().advance(fires.since(start()) - Duration::from_millis(1));
    assert!(scene.bodies(&url).await.is_empty());
    scene.cloud.clock().advance(Duration::from_millis(1));
    assert_eq!(scene.bodies(&url).await, [WAKE]);
    assert!(scene.cloud.schedules().is_empty());
    let gone = scene.scheduler.get_schedule().name("o-1").send().await.expect_err("gone");
    assert!(gone.into_service_error().is_resource_not_found_exception());
}

#[tokio::test]
async fn the_moments_of_firing_are_spread_over_the_minute_and_the_same_for_the_same_seed() {
    let moments = async |seed| {
        let scene = scene_of(CloudConfig::in_memory(MovableClock::paused(start()), seed));
        for order in 0..40 {
            scene
                .schedule(&format!("o-{order}"), start().plus(Duration::from_secs(300)), WAKE)
                .send()
                .await
                .expect("created");
        }
        scene.cloud.schedules().into_iter().filter_map(|view| view.fires_at).collect::<Vec<_>>()
    };
    let first = moments(5).await;
    assert!(first.iter().collect::<std::collections::BTreeSet<_>>().len() > 30);
    assert_eq!(first, moments(5).await);
    assert_ne!(first, moments(6).await);
}

#[tokio::test]
async fn a_second_schedule_of_the_same_name_conflicts_and_an_unknown_one_is_not_found() {
    let scene = scene();
    let at = start().plus(Duration::from_secs(600));
    scene.schedule("o-1", at, WAKE).client_token("t").send().await.expect("created");
    scene.schedule("o-1", at, WAKE).client_token("t").send().await.expect("the same request again");
    let error = scene.schedule("o-1", at, WAKE).send().await.expect_err("another").into_service_error();
    assert!(error.is_conflict_exception(), "{error}");
    scene.scheduler.delete_schedule().name("o-1").send().await.expect("deleted");
    let error = scene.scheduler.delete_schedule().name("o-1").send().await.expect_err("gone").into_service_error();
    assert!(error.is_resource_not_found_exception(), "{error}");
    let error =
        scene.schedule("o-2", at, WAKE).group_name("orders").send().await.expect_err("no group").into_service_error();
    assert!(error.is_resource_not_found_exception(), "{error}");
    let error = scene.schedule("o-2", at, WAKE).schedule_expression("at(soon)").send().await.expect_err("broken");
    assert!(error.into_service_error().is_validation_exception());
}

#[tokio::test]
async fn a_schedule_lives_in_its_group_can_be_moved_shown_and_listed() {
    let scene = scene();
    let url = scene.queue("close", &[]).await;
    scene.scheduler.create_schedule_group().name("orders").send().await.expect("created");
    scene
        .schedule("o-1", start().plus(Duration::from_secs(600)), WAKE)
        .group_name("orders")
        .send()
        .await
        .expect("created");
    let shown = scene.scheduler.get_schedule().name("o-1").group_name("orders").send().await.expect("shown");
    assert_eq!(shown.schedule_expression(), Some("at(2026-01-01T00:10:00)"));
    assert_eq!(shown.target().and_then(|target| target.input()), Some(WAKE));

    let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build().expect("complete");
    let moved = scene.scheduler.update_schedule().name("o-1").group_name("orders").flexible_time_window(window);
    let moved = moved.schedule_expression("at(2026-01-01T01:00:00)").target(shown.target.expect("a target"));
    moved.send().await.expect("moved");
    scene.advance(700);
    assert!(scene.bodies(&url).await.is_empty());
    let listed = scene.scheduler.list_schedules().group_name("orders").send().await.expect("listed");
    assert_eq!(listed.schedules()[0].name(), Some("o-1"));
    scene.advance(3_000);
    assert_eq!(scene.bodies(&url).await, [WAKE]);
}

#[tokio::test]
async fn a_rate_schedule_fires_once_however_far_the_clock_jumps_and_leaves_its_invocation_to_the_driver() {
    let scene = scene();
    let scan = "arn:aws:lambda:us-east-1:000000000000:function:fallback-scan";
    let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build().expect("complete");
    let target =
        Target::builder().arn(scan).role_arn("arn:aws:iam::000000000000:role/scheduler").build().expect("complete");
    let create = scene.scheduler.create_schedule().name("scan").schedule_expression("rate(1 hour)");
    create.flexible_time_window(window).target(target).send().await.expect("created");
    scene.advance(3_599);
    assert!(scene.cloud.take_invocations().is_empty());
    scene.advance(1);
    assert!(!scene.cloud.idle());
    assert_eq!(scene.cloud.take_invocations().len(), 1);
    scene.advance(86_400);
    let fired = scene.cloud.take_invocations();
    assert_eq!(fired.iter().map(|fired| fired.target.as_str()).collect::<Vec<_>>(), [scan]);
    assert!(scene.cloud.idle());
    scene.advance(3_600);
    assert_eq!(scene.cloud.take_invocations().len(), 1);
}

#[tokio::test]
async fn the_scheduler_fires_while_nobody_calls() {
    let scene = scene_of(CloudConfig::in_memory(MovableClock::paused(start()), 3));
    scene.queue("close", &[]).await;
    scene.schedule("o-1", start().plus(Duration::from_secs(60)), WAKE).send().await.expect("created");
    let cloud = scene.cloud.clone();
    let background = tokio::spawn(async move { cloud.run_scheduler().await });
    let mut changes = scene.cloud.changes();
    scene.advance(120);
    let fired = async {
        while scene.cloud.shared.lock().queues.counts()["close"].visible == 0 {
            changes.next().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(1), fired).await.expect("fired");
    background.abort();
}
