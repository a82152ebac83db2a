//! `template.yaml` is the whole deployment (DESIGN §10). It is held against the code in both directions: what the code needs is
//! there, and what is there the code needs. That CloudFormation takes it is checked by tests/template/run.sh.

mod document;
mod observability;
mod runbook;
mod source;

use std::collections::BTreeSet;
use std::sync::Mutex;

use document::{Template, plain, yaml};
use expiry_core::message::Queue;
use expiry_runtime::config::{Config, DEFAULT_RULES};
use expiry_runtime::queues::url_variable;
use expiry_store::{DUE_INDEX, names};
use serde_json::{Value, json};
use source::{entries, read, set};

const SIM: [(&str, &str); 3] =
    [("Channels", "sim"), ("SimChannelUrl", "https://sim.example.com"), ("SimChannelSecretName", "shop/sim")];

#[test]
fn every_folder_of_functions_is_one_function_and_there_is_no_other() {
    let template = Template::with(&[]);
    let functions = template.functions();
    assert_eq!(set(functions.keys().cloned()), entries("functions"));
    assert_eq!(functions.len(), template.resources("AWS::Serverless::Function").len());
    assert_eq!(template.document["Globals"]["Function"]["Runtime"], "provided.al2023");
}

#[test]
fn a_function_is_given_the_variables_its_code_reads_and_no_others() {
    for (parameters, sim) in [(&SIM[..], true), (&[][..], false)] {
        for (folder, function) in Template::with(parameters).functions() {
            let given = function.variables();
            let mut needed = function.source.variables();
            needed.retain(|variable| sim || !variable.starts_with("SIM_"));
            assert_eq!(set(given.keys().cloned()), needed, "{folder}");

            let asked = Mutex::new(BTreeSet::from(["RUST_LOG".to_owned()]));
            let config = Config::from_lookup(&|name| {
                asked.lock().expect("no panic").insert(name.to_owned());
                given.get(name).cloned()
            });
            let config = config.unwrap_or_else(|error| panic!("{folder} does not start: {error}"));
            let asked = asked.into_inner().expect("no panic");
            assert!(needed.is_subset(&asked), "{folder} is given what Config never reads: {needed:?}");
            config.queue_urls(&function.source.sends()).unwrap_or_else(|error| panic!("{folder}: {error}"));
            assert_eq!(config.scheduler().is_ok(), function.source.arms_schedules(), "{folder}");
            for queue in function.source.sends() {
                assert_eq!(given[url_variable(queue)], format!("https://sqs/shop-{queue}"), "{folder}");
            }
            if function.source.arms_schedules() {
                assert_eq!(given["CLOSE_QUEUE_ARN"], "arn:aws:https://sqs/shop-close", "{folder}");
            }
        }
    }
}

#[test]
fn the_defaults_are_those_of_the_code_and_every_allowed_value_is_one_of_its_own() {
    let tables = [("ORDERS_TABLE", "orders"), ("RESOURCES_TABLE", "resources")];
    let of_code = |name: &str| tables.iter().find(|(table, _)| *table == name).map(|(_, value)| (*value).to_owned());
    let code = Config::from_lookup(&of_code).expect("the code's defaults");
    let configs = |parameters: &[(&str, &str)]| -> Vec<Config> {
        let template = Template::with(parameters);
        let functions = template.functions().into_values();
        let started = functions.map(|function| Config::from_lookup(&|name| function.variables().get(name).cloned()));
        started.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{parameters:?}: {error}"))
    };
    for config in configs(&[]) {
        assert_eq!(
            (config.lease, config.scan_grace, config.scan_period),
            (code.lease, code.scan_grace, code.scan_period)
        );
        assert_eq!(config.channel_call, code.channel_call);
        assert_eq!((config.max_open_orders_per_user, config.channels), (None, vec![]), "sim is off");
    }
    let template = Template::with(&[]);
    assert_eq!(template.parameters["ExpiryRules"], DEFAULT_RULES);
    for (name, parameter) in template.document["Parameters"].as_object().expect("parameters") {
        let bounds = [&parameter["MinValue"], &parameter["MaxValue"]]
            .into_iter()
            .chain(parameter["AllowedValues"].as_array().into_iter().flatten());
        for value in bounds.filter_map(plain).filter(|value| value != "sim") {
            let _ = configs(&[(name, &value)]);
        }
    }
}

#[test]
fn the_tables_are_those_the_store_reads_and_writes() {
    let template = Template::with(&[]);
    let tables = template.resources("AWS::DynamoDB::Table");
    assert_eq!(set(tables.keys().copied()), set(["OrdersTable", "ResourcesTable"]));
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let orders = tables["OrdersTable"];
    assert_eq!(orders["KeySchema"], json!([key(names::PK, "HASH"), key(names::SK, "RANGE")]));
    let due = json!([{
        "IndexName": DUE_INDEX,
        "KeySchema": [key(names::DUE_SHARD, "HASH"), key(names::DUE_AT, "RANGE")],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }]);
    assert_eq!(orders["GlobalSecondaryIndexes"], due);
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    let typed = [(names::PK, "S"), (names::SK, "S"), (names::DUE_SHARD, "N"), (names::DUE_AT, "N")];
    assert_eq!(orders["AttributeDefinitions"], json!(typed.map(|(name, kind)| attribute(name, kind))));
    assert_eq!(orders["TimeToLiveSpecification"], json!({"AttributeName": names::TTL, "Enabled": true}));
    assert_eq!(orders["StreamSpecification"]["StreamViewType"], "NEW_AND_OLD_IMAGES");
    assert_eq!(tables["ResourcesTable"]["KeySchema"], json!([key(names::PK, "HASH")]));
    for (name, table) in tables {
        let resource = &template.document["Resources"][name];
        assert_eq!(
            (&resource["DeletionPolicy"], &resource["UpdateReplacePolicy"]),
            (&json!("Retain"), &json!("Retain"))
        );
        assert_eq!(table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"], true, "{name}");
    }
}

#[test]
fn every_queue_has_dead_letters_one_function_and_time_for_it() {
    let template = Template::with(&[]);
    let functions = template.functions();
    let queues = template.resources("AWS::SQS::Queue");
    let mut expected = set(["shop-stream-dlq"]);
    expected.extend(Queue::ALL.into_iter().flat_map(|queue| [format!("shop-{queue}"), format!("shop-{queue}-dlq")]));
    assert_eq!(set(queues.keys().map(|name| template.queue_name(name))), expected);
    let longest_lease = template.document["Parameters"]["LeaseSeconds"]["MaxValue"].as_u64().expect("a bound");
    for (name, queue) in queues {
        let called = template.queue_name(name);
        assert_eq!(queue["SqsManagedSseEnabled"], true, "{called}");
        if called.ends_with("-dlq") {
            assert_eq!(queue["MessageRetentionPeriod"], 14 * 86_400, "{called}");
            continue;
        }
        let redrive = &queue["RedrivePolicy"];
        let dead_letters = redrive["deadLetterTargetArn"]["Fn::GetAtt"][0].as_str().expect("a queue");
        assert_eq!(
            (template.queue_name(dead_letters), &redrive["maxReceiveCount"]),
            (format!("{called}-dlq"), &json!(5))
        );
        let receivers: Vec<_> = functions.values().filter(|function| function.receives().contains(&called)).collect();
        let [receiver] = receivers.as_slice() else { panic!("{called} has {} functions", receivers.len()) };
        let visibility = queue["VisibilityTimeout"].as_u64().expect("a visibility");
        assert!(
            visibility >= 6 * receiver.seconds() && 6 * receiver.seconds() > longest_lease,
            "{called}: {visibility}"
        );
    }
    for mapping in functions.values().flat_map(|function| function.events("SQS")) {
        assert_eq!(
            (&mapping["BatchSize"], &mapping["FunctionResponseTypes"]),
            (&json!(10), &json!(["ReportBatchItemFailures"]))
        );
        assert!(mapping["ScalingConfig"]["MaximumConcurrency"].is_number(), "MiniStack makes a text of a parameter");
    }
}

#[test]
fn the_stream_brings_orders_alone_in_order_and_gives_up_at_last() {
    let template = Template::with(&[]);
    let functions = template.functions();
    let streams: Vec<_> = functions.values().filter(|function| !function.events("DynamoDB").is_empty()).collect();
    let [fanout] = streams.as_slice() else { panic!("{} functions read the stream", streams.len()) };
    let mapping = fanout.events("DynamoDB")[0];
    assert_eq!(
        (fanout.name, &mapping["Stream"]),
        ("OutboxFanout", &json!({"Fn::GetAtt": ["OrdersTable", "StreamArn"]}))
    );
    let filters = mapping["FilterCriteria"]["Filters"].as_array().expect("filters");
    let pattern: Value = serde_json::from_str(filters[0]["Pattern"].as_str().expect("a pattern")).expect("JSON");
    assert_eq!((filters.len(), pattern), (1, json!({"dynamodb": {"Keys": {names::SK: {"S": ["O"]}}}})));
    assert_eq!(mapping["StartingPosition"], "TRIM_HORIZON");
    assert_eq!(mapping["BisectBatchOnFunctionError"], true);
    assert_eq!(mapping["FunctionResponseTypes"], json!(["ReportBatchItemFailures"]));
    // Before the stream itself forgets, so that what was given up is named.
    let age = mapping["MaximumRecordAgeInSeconds"].as_i64().expect("an age");
    assert!((1..86_400).contains(&age) && mapping["MaximumRetryAttempts"].as_i64() > Some(0));
    assert_eq!(mapping["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0], "StreamDeadLetters");
}

#[test]
fn a_role_allows_the_calls_its_function_makes_and_no_others() {
    for (parameters, sim) in [(&SIM[..], true), (&[][..], false)] {
        roles_fit(&Template::with(parameters), sim);
    }
}

fn roles_fit(template: &Template, sim: bool) {
    for (folder, function) in template.functions() {
        let mut needed = function.source.database_calls();
        let mut need = |action: &str, resource: String| needed.insert((action.to_owned(), resource));
        for action in ["logs:CreateLogStream", "logs:PutLogEvents"] {
            need(action, format!("arn:aws:{}Logs", function.name));
        }
        for action in ["xray:PutTraceSegments", "xray:PutTelemetryRecords"] {
            need(action, "*".to_owned());
        }
        if sim && function.source.talks_to_channels() {
            let secret = "arn:AWS::Partition:secretsmanager:AWS::Region:AWS::AccountId:secret:shop/sim-??????";
            need("secretsmanager:GetSecretValue", secret.to_owned());
        }
        for queue in function.source.sends() {
            need("sqs:SendMessage", format!("arn:aws:https://sqs/shop-{queue}"));
        }
        for queue in function.receives() {
            for action in ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"] {
                need(action, format!("arn:aws:https://sqs/{queue}"));
            }
        }
        if function.source.all.contains("queues.warm(Queue::Close)") {
            need("sqs:GetQueueAttributes", "arn:aws:https://sqs/shop-close".to_owned());
        }
        if !function.events("DynamoDB").is_empty() {
            for action in ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"] {
                need(action, "arn:aws:OrdersTable".to_owned());
            }
            need("dynamodb:ListStreams", "arn:aws:OrdersTable/stream/*".to_owned());
            need("sqs:SendMessage", "arn:aws:https://sqs/shop-stream-dlq".to_owned());
        }
        if function.source.arms_schedules() {
            let schedules = "arn:AWS::Partition:scheduler:AWS::Region:AWS::AccountId:schedule/WakeSchedules/*";
            need("scheduler:CreateSchedule", schedules.to_owned());
            need("scheduler:UpdateSchedule", schedules.to_owned());
            if function.source.all.contains("schedules.disarm(") {
                need("scheduler:DeleteSchedule", schedules.to_owned());
            }
            need("iam:PassRole", "arn:aws:WakeRole".to_owned());
        }
        assert_eq!(function.allowed(), needed, "{folder}");
    }
}

#[test]
fn the_routes_are_those_of_the_contract_each_with_a_token_but_the_webhooks() {
    let template = Template::with(&[]);
    let mut routes = BTreeSet::new();
    for (name, route) in template.resources("AWS::ApiGatewayV2::Route") {
        let key = route["RouteKey"].as_str().expect("a key");
        let open = key == "POST /webhooks/{channel}";
        assert_eq!(route["AuthorizationType"], if open { "NONE" } else { "JWT" }, "{key}");
        assert_eq!(route["AuthorizerId"], if open { Value::Null } else { json!({"Ref": "JwtAuthorizer"}) }, "{key}");
        let function = match key.split_once(' ').expect("method and path") {
            ("POST", "/orders") => "CreateOrder",
            ("POST", "/orders/{id}/payments") => "StartPayment",
            ("POST", "/webhooks/{channel}") => "PaymentCallback",
            (_, path) if path.starts_with("/admin/") => "AdminApi",
            (_, _) => "OrderApi",
        };
        let target = template.text(&route["Target"]);
        assert_eq!(target, Some(format!("integrations/{function}Integration")), "{name}");
        let integration =
            template.resources("AWS::ApiGatewayV2::Integration")[format!("{function}Integration").as_str()];
        assert_eq!(integration["IntegrationUri"], json!({"Fn::GetAtt": [function, "Arn"]}));
        assert!(template.resources("AWS::Lambda::Permission").contains_key(format!("{function}Permission").as_str()));
        assert!(routes.insert(key.to_owned()), "{key} is there twice");
    }
    let mut contract = BTreeSet::new();
    for (path, methods) in yaml("openapi.yaml")["paths"].as_object().expect("paths") {
        let methods = methods.as_object().expect("methods").keys().map(|method| method.to_uppercase());
        contract.extend(methods.filter(|name| name != "PARAMETERS").map(|method| format!("{method} {path}")));
    }
    assert_eq!(routes, contract);
}

#[test]
fn the_other_endpoint_serves_what_the_local_system_calls() {
    let localstack = &yaml("infra/endpoint/compose.yaml")["services"]["localstack"];
    let served = localstack["environment"]["SERVICES"].as_str().expect("services");
    let manifest = read("infra/local/Cargo.toml");
    let called = manifest.lines().filter_map(|line| line.strip_prefix("aws-sdk-")?.split_once('.'));
    assert_eq!(set(served.split(',')), set(called.map(|(service, _)| service)));
}
