//! The text of the functions' code, and what it needs of a deployment.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use expiry_core::message::Queue;
use expiry_runtime::queues::url_variable;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of the entries of a folder.
pub(crate) fn entries(path: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(root().join(path)).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

pub(crate) fn set<T: Into<String>>(names: impl IntoIterator<Item = T>) -> BTreeSet<String> {
    names.into_iter().map(Into::into).collect()
}

/// The text of every function's code and of all that they share.
pub(crate) fn all_code() -> String {
    fn below(path: &str) -> String {
        let of_entry = |name: &String| match root().join(path).join(name).is_dir() {
            true => below(&format!("{path}/{name}")),
            false if name.ends_with(".rs") => read(format!("{path}/{name}")),
            false => String::new(),
        };
        entries(path).iter().map(of_entry).collect()
    }
    below("functions") + &below("shared")
}

/// The text of a function's code.
pub(crate) struct Source {
    main: String,
    pub(crate) all: String,
}

impl Source {
    pub(crate) fn of(folder: &str) -> Source {
        let source = format!("functions/{folder}/src");
        let all = entries(&source).iter().map(|file| read(format!("{source}/{file}"))).collect();
        Source { main: read(format!("{source}/main.rs")), all }
    }

    /// The queues its `main.rs` asks for.
    pub(crate) fn sends(&self) -> Vec<Queue> {
        let named = |queue: &Queue| self.main.contains(&format!("Queue::{queue:?}"));
        Queue::ALL.into_iter().filter(|queue| self.main.contains("Queue::ALL") || named(queue)).collect()
    }

    pub(crate) fn arms_schedules(&self) -> bool {
        self.main.contains("config.scheduler()")
    }

    /// Whether it gives commands that ask a channel.
    pub(crate) fn asks(&self) -> bool {
        let asks = ["Question::Payments(", "Question::SubmitRefund(", "Question::RefundStatus("];
        entries("shared/core/src/decide").iter().any(|file| {
            let decides = read(format!("shared/core/src/decide/{file}"));
            let gives = self.all.contains(&format!("decide::{}::", file.trim_end_matches(".rs")));
            gives && asks.iter().any(|question| decides.contains(question))
        })
    }

    /// Whether it asks a channel or listens to one: a secret is given only there, and only there it is linked.
    pub(crate) fn talks_to_channels(&self) -> bool {
        let talks = self.asks() || self.all.contains("context.channels()");
        assert_eq!(self.main.contains("in_lambda_with_channels("), talks, "{}", self.main);
        talks
    }

    /// The variables it needs or may use.
    pub(crate) fn variables(&self) -> BTreeSet<String> {
        let mut variables = set(["ORDERS_TABLE", "RESOURCES_TABLE", "RUST_LOG", "METRICS_NAMESPACE"]);
        for (word, variable) in [
            ("config.expiry_rules", "EXPIRY_RULES"),
            ("config.max_open_orders_per_user", "MAX_OPEN_ORDERS_PER_USER"),
            ("config.scan_grace", "SCAN_GRACE_SECONDS"),
            ("context.lease", "LEASE_SECONDS"),
            ("context.scan_period", "SCAN_PERIOD_SECONDS"),
            // Both stand in every close and every ask.
            ("context.close_by(", "LEASE_SECONDS"),
            ("context.close_by(", "SCAN_PERIOD_SECONDS"),
            ("context.ask_again(", "LEASE_SECONDS"),
            ("context.ask_again(", "SCAN_PERIOD_SECONDS"),
        ] {
            variables.extend(self.all.contains(word).then(|| variable.to_owned()));
        }
        if self.asks() {
            variables.insert("CHANNEL_CALL_SECONDS".to_owned());
        }
        if self.talks_to_channels() {
            variables.extend(set(["CHANNELS", "SIM_CHANNEL_URL", "SIM_CHANNEL_SECRET_ID"]));
        }
        if self.arms_schedules() {
            variables.extend(set(["SCHEDULE_GROUP", "SCHEDULE_ROLE_ARN", "CLOSE_QUEUE_ARN"]));
        }
        variables.extend(self.sends().into_iter().map(|queue| url_variable(queue).to_owned()));
        variables
    }

    /// The database calls it makes: each action with the resource.
    pub(crate) fn database_calls(&self) -> BTreeSet<(String, String)> {
        let (orders, resources) = ("arn:aws:OrdersTable", "arn:aws:ResourcesTable");
        let due = "arn:aws:OrdersTable/index/due";
        let mut calls = BTreeSet::new();
        for (word, table, actions) in [
            // Reads, commits, puts transaction rows, evidence and findings.
            (".run(", orders, &["GetItem", "UpdateItem", "PutItem"][..]),
            (".run_on(", orders, &["GetItem", "UpdateItem", "PutItem"]),
            ("decide::settle", resources, &["GetItem", "UpdateItem"]),
            ("store.create(", orders, &["PutItem", "UpdateItem"]),
            ("store.create(", resources, &["UpdateItem"]),
            ("store.load(", orders, &["GetItem"]),
            ("store.load_many(", orders, &["BatchGetItem"]),
            (".timeline(", orders, &["Query"]),
            (".findings(", orders, &["Query"]),
            (".due_page(", due, &["Query"]),
            (".due_orders(", due, &["Query"]),
            (".scan_state(", orders, &["GetItem"]),
            (".save_scan_state(", orders, &["PutItem"]),
            ("store.counter(", resources, &["GetItem"]),
            ("store.coupon(", resources, &["GetItem"]),
            ("store.edit_counter(", resources, &["GetItem", "UpdateItem"]),
            ("store.edit_coupon(", resources, &["GetItem", "UpdateItem"]),
        ] {
            if self.all.contains(word) {
                calls.extend(actions.iter().map(|action| (format!("dynamodb:{action}"), table.to_owned())));
            }
        }
        calls
    }
}
