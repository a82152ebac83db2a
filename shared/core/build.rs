//! Takes one guard out of the build when `WITHOUT_GUARD` names it: `src/guard.rs` says what for.

const GUARDS: [&str; 16] = [
    "version",
    "operation_token",
    "fencing",
    "query_before_close",
    "second_query",
    "money_match",
    "direct_close",
    "place_before",
    "second_write",
    "reservation_status",
    "coupon_holder",
    "refund_uniqueness",
    "expiry_recheck",
    "due_index",
    "pending_member",
    "fresh_facts",
];

fn main() {
    let values = GUARDS.map(|guard| format!("{guard:?}")).join(", ");
    println!("cargo::rustc-check-cfg=cfg(without_guard, values({values}))");
    println!("cargo::rerun-if-env-changed=WITHOUT_GUARD");
    if let Ok(guard) = std::env::var("WITHOUT_GUARD") {
        if GUARDS.contains(&guard.as_str()) {
            println!("cargo::rustc-cfg=without_guard={guard:?}");
        } else {
            println!("cargo::error=WITHOUT_GUARD is {guard:?}; it must be one of {values}");
        }
    }
}
