//! Work on all cores, results in order, memory bounded.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use anyhow::{Context, Result};

/// Calls `work` on every index of `weights` on the pool's threads, and `take` on the calling thread with each result,
/// in the order of the indices.
///
/// No more than `window` of weight is begun and not yet taken, except that one item may always be under way. The first
/// error of either ends the run: no further item is begun.
pub(super) fn in_order<T: Send>(
    pool: &rayon::ThreadPool,
    weights: &[u64],
    window: u64,
    work: impl Fn(usize) -> Result<T> + Sync,
    mut take: impl FnMut(usize, T) -> Result<()>,
) -> Result<()> {
    let stop = AtomicBool::new(false);
    let (work, stop) = (&work, &stop);
    let (done, results) = mpsc::channel();
    pool.in_place_scope(|scope| {
        let outcome = (|| {
            let (mut begun, mut taken, mut weight) = (0, 0, 0);
            let mut early = BTreeMap::new();
            while taken < weights.len() {
                while begun < weights.len() && (begun == taken || weight + weights[begun] <= window)
                {
                    let (index, done) = (begun, done.clone());
                    scope.spawn(move |_| {
                        if !stop.load(Ordering::Relaxed) {
                            // A panic must reach the caller, who would otherwise wait for this result for ever.
                            let result = catch_unwind(AssertUnwindSafe(|| work(index)));
                            done.send((index, result)).ok();
                        }
                    });
                    weight += weights[begun];
                    begun += 1;
                }
                let (index, result) = results.recv().context("the threads ended early")?;
                early.insert(index, result.unwrap_or_else(|panic| resume_unwind(panic))?);
                while let Some(result) = early.remove(&taken) {
                    take(taken, result)?;
                    weight -= weights[taken];
                    taken += 1;
                }
            }
            Ok(())
        })();
        stop.store(true, Ordering::Relaxed);
        outcome
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap()
    }

    #[test]
    fn results_come_in_order_and_the_window_holds() {
        let weights: Vec<u64> = (0..200).map(|n| (n * 7919) % 13).collect();
        for threads in [1, 2, 7] {
            let (held, most) = (AtomicU64::new(0), AtomicU64::new(0));
            let mut order = Vec::new();
            in_order(
                &pool(threads),
                &weights,
                30,
                |index| {
                    let now = held.fetch_add(weights[index], Ordering::SeqCst) + weights[index];
                    most.fetch_max(now, Ordering::SeqCst);
                    // The first of each dozen is slow, so the others overtake it.
                    std::thread::sleep(Duration::from_micros(if index % 12 == 0 {
                        900
                    } else {
                        20
                    }));
                    Ok(index * 3)
                },
                |index, result| {
                    assert_eq!(result, index * 3);
                    held.fetch_sub(weights[index], Ordering::SeqCst);
                    order.push(index);
                    Ok(())
                },
            )
            .unwrap();
            assert!(order.iter().copied().eq(0..200));
            assert!(most.load(Ordering::SeqCst) <= 30, "{most:?}");
        }
    }

    #[test]
    fn an_item_heavier_than_the_window_still_goes_through() {
        let mut taken = 0;
        in_order(&pool(2), &[5, 100, 5], 10, Ok, |_, _| {
            taken += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(taken, 3);
    }

    #[test]
    fn the_first_error_of_either_side_ends_it() {
        let weights = vec![1; 1000];
        let begun = AtomicU64::new(0);
        let work = |index| {
            begun.fetch_add(1, Ordering::SeqCst);
            anyhow::ensure!(index != 20, "file 20 is gone");
            Ok(())
        };
        let error = in_order(&pool(2), &weights, 10, work, |_, ()| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "file 20 is gone");
        assert!(begun.load(Ordering::SeqCst) < 40, "{begun:?}");
        let error = in_order(&pool(2), &weights, 10, Ok, |index, _| {
            anyhow::ensure!(index != 5, "disk full");
            Ok(())
        });
        assert_eq!(error.unwrap_err().to_string(), "disk full");
    }

    #[test]
    #[should_panic(expected = "broken item")]
    fn a_panic_reaches_the_caller() {
        let work = |index| {
            assert!(index != 3, "broken item");
            Ok(())
        };
        in_order(&pool(2), &[1; 9], 100, work, |_, ()| Ok(())).ok();
    }
}
