//! Panics of functions: none may ever happen, and a driver that ran the function would only end in silence.

use std::cell::RefCell;
use std::panic;
use std::sync::Once;

thread_local! {
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

static HOOK: Once = Once::new();

/// Forgets the panics of this thread so far, and notes those to come.
pub(crate) fn watch() {
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|panic| {
            let what = panic.to_string();
            PANICS.with(|panics| panics.borrow_mut().push(what.replace('\n', " ")));
        }));
    });
    let _ = taken();
}

/// What panicked in this thread since; each is told once.
pub(crate) fn taken() -> Vec<String> {
    PANICS.with(RefCell::take)
}
