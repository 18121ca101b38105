//! Ctrl-C (and SIGTERM) while a job runs. A process has one handler for them, hence the one static of the tool.

use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Result, anyhow};

#[derive(Default)]
struct State {
    /// Interrupts since the process began.
    count: usize,
    /// Jobs that run.
    watchers: usize,
}

struct Signals {
    state: Mutex<State>,
    changed: Condvar,
    /// What an interrupt does while no job runs.
    idle: fn(),
}

static SIGNALS: OnceLock<Result<&'static Signals, String>> = OnceLock::new();

impl Signals {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn interrupted(&self) {
        let mut state = self.lock();
        state.count += 1;
        if state.watchers == 0 {
            drop(state);
            return (self.idle)();
        }
        self.changed.notify_all();
    }
}

/// Listens for Ctrl-C, SIGTERM and SIGHUP from now on. While a job runs they end the job; else `idle` is called, which is to
/// end the process, as the system would without a listener.
///
/// # Errors
/// The system refuses, or another listener is there.
pub fn listen(idle: fn()) -> Result<()> {
    signals(idle).map(drop)
}

/// The one listener; `idle` counts where it is the first call.
fn signals(idle: fn()) -> Result<&'static Signals> {
    let signals = SIGNALS.get_or_init(|| {
        let signals: &'static Signals = Box::leak(Box::new(Signals {
            state: Mutex::default(),
            changed: Condvar::default(),
            idle,
        }));
        ctrlc::set_handler(|| signals.interrupted())
            .map(|()| signals)
            .map_err(|error| error.to_string())
    });
    match signals {
        Ok(signals) => Ok(signals),
        Err(error) => Err(anyhow!("listening for Ctrl-C: {error}")),
    }
}

/// While it lives, interrupts are counted and do not end the process.
pub(super) struct Watch {
    signals: &'static Signals,
    before: usize,
}

impl Watch {
    pub(super) fn begin() -> Result<Self> {
        let signals = signals(|| {})?;
        let mut state = signals.lock();
        state.watchers += 1;
        let before = state.count;
        drop(state);
        Ok(Self { signals, before })
    }

    /// Interrupts since this watch began.
    pub(super) fn count(&self) -> usize {
        self.signals.lock().count - self.before
    }

    /// Waits until there are more than `above` interrupts, `over` holds (tell by [`Watch::wake`]), or `limit` passes.
    pub(super) fn wait(&self, above: usize, limit: Duration, over: impl Fn() -> bool) -> usize {
        let state = self.signals.lock();
        let (state, _) = self
            .signals
            .changed
            .wait_timeout_while(state, limit, |state| {
                state.count - self.before <= above && !over()
            })
            .unwrap_or_else(PoisonError::into_inner);
        state.count - self.before
    }

    /// Makes each [`Watch::wait`] ask again whether it is over.
    pub(super) fn wake(&self) {
        let _state = self.signals.lock();
        self.signals.changed.notify_all();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.signals.lock().watchers -= 1;
    }
}
