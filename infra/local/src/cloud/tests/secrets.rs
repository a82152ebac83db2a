//! Secrets Manager.

use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueError;

use super::{Scene, scene};

async fn read(scene: &Scene, stage: &str) -> Option<String> {
    match scene.secrets.get_secret_value().secret_id("sim").version_stage(stage).send().await {
        Ok(answer) => answer.secret_string,
        Err(error) => {
            let absent = error.as_service_error().is_some_and(GetSecretValueError::is_resource_not_found_exception);
            assert!(absent, "{error:?}");
            None
        }
    }
}

#[tokio::test]
async fn a_new_value_makes_the_former_one_the_previous_version_and_the_one_before_is_gone() {
    let scene = scene();
    assert_eq!(read(&scene, "AWSCURRENT").await, None);
    scene.secrets.create_secret().name("sim").secret_string("one").send().await.expect("created");
    assert_eq!((read(&scene, "AWSCURRENT").await, read(&scene, "AWSPREVIOUS").await), (Some("one".to_owned()), None));
    for value in ["two", "three"] {
        scene.secrets.put_secret_value().secret_id("sim").secret_string(value).send().await.expect("put");
    }
    assert_eq!(read(&scene, "AWSCURRENT").await.as_deref(), Some("three"));
    assert_eq!(read(&scene, "AWSPREVIOUS").await.as_deref(), Some("two"));
}

#[tokio::test]
async fn a_secret_is_created_once_and_only_a_secret_that_exists_takes_a_value() {
    let scene = scene();
    let put = scene.secrets.put_secret_value().secret_id("sim").secret_string("one").send().await;
    assert!(put.expect_err("absent").as_service_error().is_some_and(|error| error.is_resource_not_found_exception()));
    scene.secrets.create_secret().name("sim").secret_string("one").send().await.expect("created");
    let again = scene.secrets.create_secret().name("sim").secret_string("two").send().await;
    assert!(again.expect_err("exists").as_service_error().is_some_and(|error| error.is_resource_exists_exception()));
}
