//! The core that the loop runs on.

use flightlog::bench::{LoopTask, Settings};
use flightlog::fifo::Counts;
use flightlog::stats::GapStats;

use crate::constants::{Constants, spread};

/// How fast a core gets on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// It runs.
    Running,
    /// It runs, but for these thousandths of the time it waits for the bus that its code comes over.
    Sharing(u64),
    /// It is held in a busy loop in internal RAM.
    Stopped,
}

impl Pace {
    /// Time in which `work_ns` get done; `None` if never.
    fn needs(self, work_ns: u64) -> Option<u64> {
        match self {
            Pace::Running => Some(work_ns),
            Pace::Sharing(share) => Some((work_ns * 1_000).div_ceil(1_000 - share)),
            Pace::Stopped => None,
        }
    }

    /// Work that gets done in `time_ns`.
    fn does(self, time_ns: u64) -> u64 {
        match self {
            Pace::Running => time_ns,
            Pace::Sharing(share) => time_ns * (1_000 - share) / 1_000,
            Pace::Stopped => 0,
        }
    }
}

/// The core with the loop's task, and a task that now and then does a job before it.
pub(crate) struct Core {
    task: LoopTask,
    tick_ns: u64,
    now_ns: u64,
    /// What is left of the pass: its burst, in which no other task and no stop gets in, and its work.
    burst_ns: u64,
    work_ns: u64,
    /// What is left of the job, and when the next one comes.
    job_ns: u64,
    next_job_ns: u64,
    jobs: u64,
    start_ns: u64,
    job_length_ns: u64,
    job_period_ns: u64,
    loop_period_ns: u64,
    /// When the loop's task wakes, where it sleeps.
    wake_ns: Option<u64>,
}

impl Core {
    pub(crate) fn new(settings: &Settings, constants: &Constants, now_ns: u64) -> Self {
        let load = settings.load;
        let mut core = Self {
            task: LoopTask::new(settings, now_ns / 1_000),
            tick_ns: constants.tick_ns,
            now_ns,
            burst_ns: 0,
            work_ns: 0,
            wake_ns: None,
            job_ns: 0,
            next_job_ns: 0,
            jobs: 0,
            start_ns: now_ns,
            job_length_ns: u64::from(load.job_us) * 1_000,
            job_period_ns: u64::from(load.job_period_us) * 1_000,
            loop_period_ns: u64::from(settings.loop_period_us) * 1_000,
        };
        core.next_job();
        core
    }

    /// Jobs are not in step with the loop: each comes at another moment of its period, spread evenly.
    fn next_job(&mut self) {
        self.next_job_ns =
            self.start_ns + self.jobs * self.job_period_ns + spread(self.jobs, self.loop_period_ns);
        self.jobs += 1;
    }

    /// What is left of a burst that has begun.
    pub(crate) fn burst_left_ns(&self) -> u64 {
        self.burst_ns
    }

    pub(crate) fn finish(self) -> (GapStats, Counts) {
        self.task.finish(self.now_ns / 1_000)
    }

    /// Lives through the time up to `until_ns`.
    pub(crate) fn advance(&mut self, until_ns: u64, pace: Pace) {
        while self.now_ns < until_ns {
            if self.now_ns >= self.next_job_ns {
                self.job_ns += self.job_length_ns;
                self.next_job();
            }
            if pace != Pace::Stopped && self.idle() {
                self.loop_task();
            }
            // To the next thing that happens: the end of what runs, the next job, the next pass.
            let mut next = until_ns.min(self.next_job_ns);
            if let Some(left) = self.doing().copied() {
                next = next.min(pace.needs(left).map_or(next, |needed| self.now_ns + needed));
            } else if let Some(wake_ns) = self.wake_ns.filter(|_| pace != Pace::Stopped) {
                next = next.min(wake_ns);
            }
            let done = pace.does(next - self.now_ns);
            if let Some(left) = self.doing() {
                *left = left.saturating_sub(done);
            }
            self.now_ns = next;
        }
    }

    /// The loop's task has the core: its pass is over, or it wakes.
    fn loop_task(&mut self) {
        let due_ns = self.task.due_us() * 1_000;
        // A task that is late does not sleep; one that sleeps wakes at a tick.
        let wake_ns = *self.wake_ns.get_or_insert(if due_ns <= self.now_ns {
            self.now_ns
        } else {
            due_ns.next_multiple_of(self.tick_ns)
        });
        if wake_ns <= self.now_ns {
            self.wake_ns = None;
            let pass = self.task.pass(self.now_ns / 1_000);
            self.burst_ns = u64::from(pass.burst_us) * 1_000;
            self.work_ns = u64::from(pass.work_us) * 1_000;
        }
    }

    fn idle(&self) -> bool {
        self.burst_ns == 0 && self.job_ns == 0 && self.work_ns == 0
    }

    /// What runs, by priority.
    fn doing(&mut self) -> Option<&mut u64> {
        [&mut self.burst_ns, &mut self.job_ns, &mut self.work_ns]
            .into_iter()
            .find(|left| **left > 0)
    }
}
