//! What happens if the library panics, which it does not by design: the program ends, and no unwinding reaches C.
//!
//! On the chip this crate brings the panic handler. It tells the caller's function where it happened
//! ([`flightlog_on_panic`]) and calls C's `abort`, which on ESP-IDF prints a backtrace and resets. On a host the standard
//! library does it: `extern "C"` functions abort where a panic would leave them.

use core::ffi::c_char;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Told where a panic happened: the source file (`len` bytes, no 0 at its end) and the line. It may reset the chip.
pub type PanicHook = Option<unsafe extern "C" fn(file: *const c_char, len: usize, line: u32)>;

// A function pointer as data pointer: an atomic of its own kind does not exist.
static HOOK: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Sets the function that is told where a panic happened, before the program ends. Null sets none.
///
/// # Safety
/// `hook` is null, or a function that can be called from any task at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_on_panic(hook: PanicHook) {
    let pointer = hook.map_or(core::ptr::null_mut(), |hook| hook as *mut ());
    HOOK.store(pointer, Ordering::Release);
    #[cfg(not(target_os = "none"))]
    host::install();
}

/// Calls the hook, if one is set.
fn tell(location: Option<&core::panic::Location<'_>>) {
    let pointer = HOOK.load(Ordering::Acquire);
    // SAFETY: only `flightlog_on_panic` stores here: null, which is the hook's `None`, or such a function.
    let hook = unsafe { core::mem::transmute::<*mut (), PanicHook>(pointer) };
    if let Some(hook) = hook {
        let (file, line) = location.map_or(("", 0), |at| (at.file(), at.line()));
        // SAFETY: the function was given for this; the text is valid during the call.
        unsafe { hook(file.as_ptr().cast(), file.len(), line) };
    }
}

#[cfg(target_os = "none")]
#[panic_handler]
fn panicked(info: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        fn abort() -> !;
    }
    tell(info.location());
    // SAFETY: C's own function, which the program brings.
    unsafe { abort() }
}

#[cfg(not(target_os = "none"))]
mod host {
    use std::sync::Once;

    /// Lets the standard library's panic hook call the caller's first.
    pub(super) fn install() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                super::tell(info.location());
                before(info);
            }));
        });
    }
}
