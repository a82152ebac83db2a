//! Routes and refusals: the contract names all there are, and no others.

use std::collections::BTreeSet;

use acceptance::{Shop, shop};
use bytes::Bytes;
use expiry_core::money::Currency;
use expiry_runtime::problem::Code;
use local::server;
use serde_json::{Value, json};

use crate::openapi::Contract;

/// Where requests are told apart by their path. Every word in these matches is tried as a part of a path.
const ROUTING: [(&str, &str, &str); 3] = [
    (include_str!("../../../../infra/local/src/drivers/gateway.rs"), "fn route(", "fn decoded("),
    (include_str!("../../../../functions/order-api/src/lib.rs"), "match (method(request)", "unwrap_or_else"),
    (include_str!("../../../../functions/admin-api/src/lib.rs"), "async fn answer(", "fn operator("),
];
const DEPLOYMENT: &str = include_str!("../../../../template.yaml");
/// A part of a path that is no word of a route; everything there is, is there under this name, as is the channel.
const NAME: &str = "sim";
const METHODS: [&str; 6] = ["GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"];

fn words() -> BTreeSet<&'static str> {
    let mut words = BTreeSet::new();
    for (source, from, to) in ROUTING {
        let part = source.split_once(from).and_then(|(_, rest)| rest.split_once(to)).expect("the routing's place").0;
        let quoted = part.split('"').skip(1).step_by(2);
        words.extend(quoted.filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')));
    }
    words
}

async fn shop_in_which_everything_has_one_name() -> Shop {
    let shop = shop().open().await;
    for (path, body) in [
        ("/stock/sim/sim/sim", json!({"on_hand": 1})),
        ("/points/sim", json!({"balance": 1})),
        ("/quotas/sim", json!({"limit": 1})),
    ] {
        let _ = shop.admin("PUT", path, body).await.expect(200);
    }
    shop.put_coupon(NAME, NAME, &shop.in_seconds(60)).await;
    shop
}

/// Whether the request reaches a route: it is not answered that there is none, and not that there are only other methods.
async fn is_served(shop: &Shop, method: &str, path: &str) -> bool {
    let headers = [("authorization", "Bearer local-admin"), ("content-type", "application/json")];
    let answer = shop.send(method, path, &headers, String::new()).await;
    // A resource that is not there says which; a route that is not there says nothing.
    let no_route = answer.text("code") == "not_found" && answer.body["detail"].is_null();
    !no_route && answer.status != 405
}

/// `RouteKey: POST /orders`, one line each.
#[test]
fn the_deployment_has_exactly_the_routes_of_the_contract() {
    let contract = Contract::read();
    let keys = DEPLOYMENT.lines().filter_map(|line| line.trim().strip_prefix("RouteKey: "));
    let operations = contract.operations();
    let operations = operations.iter().map(|(method, operation)| format!("{method} {}", operation.path));
    assert_eq!(keys.map(str::to_owned).collect::<BTreeSet<_>>(), operations.collect());
}

#[tokio::test]
async fn every_operation_of_the_contract_is_served() {
    let (contract, shop) = (Contract::read(), shop_in_which_everything_has_one_name().await);
    for (method, operation) in contract.operations() {
        let parts = operation.path.split('/').map(|part| if part.starts_with('{') { NAME } else { part });
        let path = parts.collect::<Vec<_>>().join("/");
        assert!(is_served(&shop, &method, &path).await, "{method} {path}");
    }
}

/// Tries every path that the words of the routing can form: any two parts, and behind them any that a name takes part in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_that_is_served_stands_in_the_contract() {
    let (contract, shop) = (Contract::read(), shop_in_which_everything_has_one_name().await);
    let words: Vec<&str> = words().into_iter().collect();
    let paths = |shapes: &[&[&'static str]]| {
        shapes.iter().fold(vec![String::new()], |paths, parts| {
            paths.iter().flat_map(|path| parts.iter().map(move |part| format!("{path}/{part}"))).collect()
        })
    };
    let any: Vec<&str> = words.iter().copied().chain([NAME]).collect();
    let (word, any, name): (&[&str], &[&str], &[&str]) = (&words, &any, &[NAME]);
    let shapes: [&[&[&str]]; 6] = [
        &[word],
        &[word, any],
        &[word, any, any],
        &[word, any, name, any],
        &[word, any, name, name, any],
        &[word, any, name, any, name],
    ];
    let mut served = BTreeSet::new();
    for path in shapes.into_iter().flat_map(paths) {
        for method in METHODS {
            if is_served(&shop, method, &path).await {
                let operation = contract.operation(method, &path);
                let operation = operation.unwrap_or_else(|| panic!("{method} {path} is not in the contract"));
                served.insert((operation.path, operation.method));
            }
        }
    }
    assert_eq!(served.len(), contract.operations().len(), "the search finds every route: {served:?}");
}

#[tokio::test]
async fn every_other_method_of_a_path_is_refused_and_named() {
    let (contract, shop) = (Contract::read(), shop_in_which_everything_has_one_name().await);
    for path in contract.at("/paths").as_object().expect("paths").keys() {
        let operations = contract.operations();
        let methods: Vec<&str> =
            operations.iter().filter(|(_, found)| found.path == path).map(|(method, _)| method.as_str()).collect();
        let concrete = path.replace("{channel}", "sim");
        for method in METHODS.into_iter().filter(|method| !methods.contains(method)) {
            let answer = shop.send(method, &concrete, &[("authorization", "Bearer local-admin")], String::new()).await;
            let answer = answer.expect_problem(405, "method_not_allowed");
            let schema =
                &contract.at("/components/responses/MethodNotAllowed")["content"][&answer.content_type]["schema"];
            assert_eq!(contract.violations(schema, &answer.body), [""; 0]);
            assert_eq!(allowed(&shop, method, &concrete).await, methods.join(", "), "{method} {path}");
        }
    }
}

/// The header `Allow` of the answer.
async fn allowed(shop: &Shop, method: &str, path: &str) -> String {
    let request = http::Request::builder().method(method).uri(path).header("authorization", "Bearer local-admin");
    let answer = server::respond(&shop.system, request.body(Bytes::new()).expect("a request")).await;
    answer.headers()["allow"].to_str().expect("text").to_owned()
}

#[test]
fn every_refusal_has_in_the_contract_the_status_it_is_served_with() {
    let contract = Contract::read();
    let served: BTreeSet<(u16, String)> =
        Code::ALL.into_iter().map(|code| (code.status(), code.as_str().to_owned())).collect();
    assert_eq!(contract.refusals(), served);
    let listed: BTreeSet<&str> = strings(contract.at("/components/schemas/ProblemCode/enum"));
    assert_eq!(listed, Code::ALL.into_iter().map(Code::as_str).collect());
}

#[test]
fn the_contract_lists_exactly_the_currencies_that_are_taken() {
    let letters = || (b'A'..=b'Z').map(char::from);
    let codes =
        letters().flat_map(|a| letters().flat_map(move |b| letters().map(move |c| String::from_iter([a, b, c]))));
    let taken: Vec<String> = codes.filter(|code| Currency::parse(code).is_some()).collect();
    let contract = Contract::read();
    let listed = strings(contract.at("/components/schemas/Currency/enum"));
    assert_eq!(listed, taken.iter().map(String::as_str).collect(), "should be [{}]", taken.join(", "));
}

#[test]
fn every_example_fits_the_schema_it_stands_beside() {
    let contract = Contract::read();
    let examples = contract.examples();
    assert!(examples.len() > 20, "{} examples", examples.len());
    for (at, schema, example) in examples {
        assert_eq!(contract.violations(schema, example), [""; 0], "{at}");
    }
}

fn strings(list: &Value) -> BTreeSet<&str> {
    list.as_array().expect("a list").iter().map(|item| item.as_str().expect("a text")).collect()
}
