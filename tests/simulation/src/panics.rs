//! Panics of functions: none may ever happen, and a driver that ran the function would only end in silence.

use std::cell::{Cell, RefCell};
use std::panic;
use std::sync::Once;

thread_local! {
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

static HOOK: Once = Once::new();

/// Notes the panics of this thread from now on, instead of printing them; those of other threads stay as they are.
pub(crate) fn watch() {
    HOOK.call_once(|| {
        let former = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_WATCHED.get() {
                return former(panic);
            }
            let what = panic.to_string();
            PANICS.with(|panics| panics.borrow_mut().push(what.replace('\n', " ")));
        }));
    });
    IS_WATCHED.set(true);
}

/// What panicked in this thread since; it is not watched any more.
pub(crate) fn taken() -> Vec<String> {
    IS_WATCHED.set(false);
    PANICS.with(RefCell::take)
}
