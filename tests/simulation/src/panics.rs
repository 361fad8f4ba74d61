//! Catches panics without printing them.

use std::{
    any::Any,
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::Once,
};

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Runs `perform` and returns its result, or the payload of its panic.
pub(crate) fn catch<T>(perform: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |info| {
            if !IS_CAUGHT.get() {
                others(info);
            }
        }));
    });
    let before = IS_CAUGHT.replace(true);
    let ended = catch_unwind(AssertUnwindSafe(perform));
    IS_CAUGHT.set(before);
    ended
}

/// Returns the message of a panic.
pub(crate) fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("something panicked").to_owned()
}
