//! The ring between the loop that reads the sensor and the task that writes flash: fixed blocks in memory of the caller.
//!
//! One producer, one consumer, each on its own core if need be. The memory is a slice of atomic words, so that both halves
//! can hold it without unsafe code; a relaxed store of a word is one plain store on the chip, and the positions, stored with
//! release and loaded with acquire, say which words belong to whom. Only loads and stores are used, no read-modify-write:
//! the smaller RISC-V chips have none.
//!
//! Until [`Producer::trigger`] the ring keeps the newest blocks and overwrites the oldest; nothing is consumed, so the
//! producer alone moves both positions. From the trigger on the consumer owns the read position: nothing that was accepted
//! is lost any more, and a block that finds the ring full is refused and counted.
//!
//! Each block has the number of its push before it. A refused push takes a number too, so the consumer sees at which block
//! how many are missing ([`Block::number`], [`Consumer::missed`]).

use core::fmt;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32};

/// Bytes in one word of the ring's memory.
const WORD: usize = size_of::<u32>();

/// The memory cannot hold a ring of such blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnusableMemory {
    /// Bytes of one block that were asked for.
    pub block_bytes: usize,
    /// Words of memory that were given.
    pub words: usize,
}

impl fmt::Display for UnusableMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes of memory do not hold a ring of {}-byte blocks: it needs 2 blocks or more of 1 byte or more, \
             each with {WORD} bytes for its number and rounded up to {WORD}",
            self.words * WORD,
            self.block_bytes
        )
    }
}

impl core::error::Error for UnusableMemory {}

/// The block was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The trigger has been and the consumer has not kept up; the block has been counted as lost.
    Full,
    /// The bytes given are not one block long.
    Length,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Full => "the ring is full",
            Refused::Length => "the bytes are not one block long",
        })
    }
}

impl core::error::Error for Refused {}

/// The ring itself; [`Ring::split`] gives its two ends.
#[derive(Debug)]
pub struct Ring<'m> {
    words: &'m [AtomicU32],
    block_bytes: usize,
    /// Words from one block to the next: the number, then the bytes.
    stride: usize,
    blocks: u32,
    /// Both count blocks and run from 0 to twice `blocks`, so that a full ring and an empty one differ without a spare block.
    write: AtomicU32,
    read: AtomicU32,
    triggered: AtomicBool,
    /// Pushes so far, accepted or not; wraps.
    pushes: AtomicU32,
    lost: AtomicU32,
    overwritten: AtomicU32,
}

impl<'m> Ring<'m> {
    /// A ring of blocks of `block_bytes`, as many as fit into `words`.
    ///
    /// # Errors
    /// Fewer than two fit, or a block of no bytes was asked for.
    pub fn new(words: &'m [AtomicU32], block_bytes: usize) -> Result<Self, UnusableMemory> {
        let unusable = UnusableMemory {
            block_bytes,
            words: words.len(),
        };
        let stride = 1 + block_bytes.div_ceil(WORD);
        // A quarter of u32: sums of two positions, each up to twice the number of blocks, must fit.
        let blocks = u32::try_from(words.len() / stride)
            .unwrap_or(u32::MAX)
            .min(u32::MAX / 4);
        if block_bytes == 0 || blocks < 2 {
            return Err(unusable);
        }
        Ok(Self {
            words,
            block_bytes,
            stride,
            blocks,
            write: AtomicU32::new(0),
            read: AtomicU32::new(0),
            triggered: AtomicBool::new(false),
            pushes: AtomicU32::new(0),
            lost: AtomicU32::new(0),
            overwritten: AtomicU32::new(0),
        })
    }

    /// Words of memory that a ring of `blocks` blocks of `block_bytes` needs.
    pub const fn words_for(blocks: usize, block_bytes: usize) -> usize {
        blocks * (1 + block_bytes.div_ceil(WORD))
    }

    /// How many blocks the ring holds.
    pub fn capacity(&self) -> u32 {
        self.blocks
    }

    /// Empties the ring and goes back to before the trigger; the counts start anew.
    pub fn clear(&mut self) {
        for counter in [
            &mut self.write,
            &mut self.read,
            &mut self.pushes,
            &mut self.lost,
            &mut self.overwritten,
        ] {
            *counter.get_mut() = 0;
        }
        *self.triggered.get_mut() = false;
    }

    /// The two ends. The borrow sees to it that there is one of each.
    pub fn split(&mut self) -> (Producer<'_, 'm>, Consumer<'_, 'm>) {
        let ring = &*self;
        (
            Producer { ring },
            Consumer {
                ring,
                expected: None,
            },
        )
    }

    /// The position `by` blocks after `position`; `by` is less than twice the number of blocks.
    fn after(&self, position: u32, by: u32) -> u32 {
        let next = position + by;
        if next >= 2 * self.blocks {
            next - 2 * self.blocks
        } else {
            next
        }
    }

    /// How many blocks lie from `read` to `write`.
    fn between(&self, read: u32, write: u32) -> u32 {
        if write >= read {
            write - read
        } else {
            write + 2 * self.blocks - read
        }
    }

    /// The words of the block at `position`: its number, then its bytes.
    fn block(&self, position: u32) -> &'m [AtomicU32] {
        let index = if position >= self.blocks {
            position - self.blocks
        } else {
            position
        };
        let start = index as usize * self.stride;
        &self.words[start..start + self.stride]
    }

    fn view(&self, position: u32) -> Block<'m> {
        Block {
            words: self.block(position),
            bytes: self.block_bytes,
        }
    }
}

/// The end that fills the ring.
#[derive(Debug)]
pub struct Producer<'r, 'm> {
    ring: &'r Ring<'m>,
}

impl<'m> Producer<'_, 'm> {
    /// Appends one block.
    ///
    /// # Errors
    /// It is not one block long, or the ring is full after the trigger: then it is counted in [`Producer::lost`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let ring = self.ring;
        if bytes.len() != ring.block_bytes {
            return Err(Refused::Length);
        }
        let number = ring.pushes.load(Relaxed);
        ring.pushes.store(number.wrapping_add(1), Relaxed);
        let write = ring.write.load(Relaxed);
        let read = ring.read.load(Acquire);
        if ring.between(read, write) == ring.blocks {
            if ring.triggered.load(Relaxed) {
                count(&ring.lost);
                return Err(Refused::Full);
            }
            // Before the trigger nobody else reads or moves the read position.
            ring.read.store(ring.after(read, 1), Relaxed);
            count(&ring.overwritten);
        }
        if let [first, rest @ ..] = ring.block(write) {
            first.store(number, Relaxed);
            store(rest, bytes);
        }
        ring.write.store(ring.after(write, 1), Release);
        Ok(())
    }

    /// Launch was detected: what the ring holds is kept, and the consumer may begin. A second call does nothing.
    pub fn trigger(&mut self) {
        // Release: whoever sees the trigger sees the read position where this side left it.
        self.ring.triggered.store(true, Release);
    }

    /// The block pushed `age` accepted pushes before the newest, where it is still in the ring; 0 is the newest.
    ///
    /// Launch detection looks back through this without a copy of its own.
    pub fn recent(&self, age: u32) -> Option<Block<'m>> {
        let ring = self.ring;
        let write = ring.write.load(Relaxed);
        // Blocks that the consumer released are this side's own again, so looking at what it has not yet released is enough.
        let held = ring.between(ring.read.load(Acquire), write);
        (age < held).then(|| ring.view(ring.after(write, 2 * ring.blocks - 1 - age)))
    }

    /// Blocks refused since the trigger because the ring was full.
    pub fn lost(&self) -> u32 {
        self.ring.lost.load(Relaxed)
    }

    /// Blocks overwritten before the trigger, as they should be.
    pub fn overwritten(&self) -> u32 {
        self.ring.overwritten.load(Relaxed)
    }

    /// Blocks in the ring that have not been released.
    pub fn held(&self) -> u32 {
        let ring = self.ring;
        ring.between(ring.read.load(Acquire), ring.write.load(Relaxed))
    }
}

/// The end that empties the ring. Before the trigger it sees nothing.
#[derive(Debug)]
pub struct Consumer<'r, 'm> {
    ring: &'r Ring<'m>,
    /// The number that the next block has if none is missing.
    expected: Option<u32>,
}

impl<'m> Consumer<'_, 'm> {
    /// Blocks that wait to be read.
    pub fn ready(&self) -> u32 {
        let ring = self.ring;
        if !ring.triggered.load(Acquire) {
            return 0;
        }
        ring.between(ring.read.load(Relaxed), ring.write.load(Acquire))
    }

    /// The waiting blocks, oldest first, where they lie. They stay in the ring until they are released.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'m>> {
        let ring = self.ring;
        let read = ring.read.load(Relaxed);
        (0..self.ready()).map(move |ahead| ring.view(ring.after(read, ahead)))
    }

    /// Gives the `count` oldest waiting blocks back to the producer; more than wait are not given. Says how many were.
    pub fn release(&mut self, count: u32) -> u32 {
        let ring = self.ring;
        let count = count.min(self.ready());
        if count == 0 {
            return 0;
        }
        let read = ring.read.load(Relaxed);
        let last = ring.view(ring.after(read, count - 1));
        self.expected = Some(last.number().wrapping_add(1));
        ring.read.store(ring.after(read, count), Release);
        count
    }

    /// How many pushes were refused right before `block`, which must be the oldest waiting one.
    ///
    /// Nothing is missing before the first block after the trigger: what was overwritten earlier was not meant to be kept.
    pub fn missed(&self, block: &Block<'_>) -> u32 {
        self.expected
            .map_or(0, |expected| block.number().wrapping_sub(expected))
    }

    /// Copies the oldest waiting block into `into` and releases it; says how many are missing before it.
    ///
    /// `into` may be shorter than a block, then the rest of it is passed over.
    pub fn take(&mut self, into: &mut [u8]) -> Option<u32> {
        if self.ready() == 0 {
            return None;
        }
        let read = self.ring.read.load(Relaxed);
        let block = self.ring.view(read);
        block.copy_to(into);
        let missed = self.missed(&block);
        self.expected = Some(block.number().wrapping_add(1));
        self.ring.read.store(self.ring.after(read, 1), Release);
        Some(missed)
    }

    /// Blocks refused since the trigger because the ring was full.
    pub fn lost(&self) -> u32 {
        self.ring.lost.load(Relaxed)
    }
}

/// One block where it lies in the ring.
#[derive(Clone, Copy, Debug)]
pub struct Block<'m> {
    words: &'m [AtomicU32],
    bytes: usize,
}

impl Block<'_> {
    /// The number of the push that brought it, refused ones counted; wraps.
    pub fn number(&self) -> u32 {
        self.words[0].load(Relaxed)
    }

    /// Copies the block's bytes, as many as fit; says how many those were.
    pub fn copy_to(&self, into: &mut [u8]) -> usize {
        let len = into.len().min(self.bytes);
        let words = self.words.get(1..).unwrap_or_default();
        // Whole words apart from the rest: a copy of a length that the compiler knows is one instruction, not a call.
        let (whole, rest) = into[..len].as_chunks_mut::<WORD>();
        for (piece, word) in whole.iter_mut().zip(words) {
            *piece = word.load(Relaxed).to_le_bytes();
        }
        if let Some(word) = words.get(whole.len()) {
            for (byte, value) in rest.iter_mut().zip(word.load(Relaxed).to_le_bytes()) {
                *byte = value;
            }
        }
        len
    }
}

/// Adds one to a counter that this side alone writes.
fn count(counter: &AtomicU32) {
    counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
}

/// Stores bytes in words, the last one filled up with zeros.
fn store(words: &[AtomicU32], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<WORD>();
    for (word, piece) in words.iter().zip(whole) {
        word.store(u32::from_le_bytes(*piece), Relaxed);
    }
    if let Some(word) = words.get(whole.len()) {
        let last = rest
            .iter()
            .rev()
            .fold(0, |last, byte| last << 8 | u32::from(*byte));
        word.store(last, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn memory(words: usize) -> Vec<AtomicU32> {
        (0..words).map(|_| AtomicU32::new(0xDEAD_BEEF)).collect()
    }

    #[test]
    fn before_the_trigger_the_newest_blocks_are_kept_and_afterwards_none_is_overwritten() {
        let words = memory(Ring::words_for(3, 5));
        let mut ring = Ring::new(&words, 5).unwrap();
        let (mut producer, mut consumer) = ring.split();
        for n in 0..5u8 {
            producer.push(&[n; 5]).unwrap();
            assert_eq!(
                consumer.ready(),
                0,
                "nothing is given out before the trigger"
            );
        }
        assert_eq!((producer.overwritten(), producer.lost()), (2, 0));
        producer.trigger();
        assert_eq!(producer.push(&[5; 5]), Err(Refused::Full));
        assert_eq!(producer.push(&[6; 5]), Err(Refused::Full));

        let mut block = [0; 5];
        assert_eq!(consumer.take(&mut block), Some(0));
        assert_eq!(block, [2; 5]);
        producer.push(&[7; 5]).unwrap();
        let seen: Vec<u8> = consumer
            .blocks()
            .map(|block| {
                let mut first = [0];
                block.copy_to(&mut first);
                first[0]
            })
            .collect();
        assert_eq!(seen, [3, 4, 7], "walked in place");
        assert_eq!(consumer.release(2), 2);
        assert_eq!(
            consumer.take(&mut block),
            Some(2),
            "two were refused before it"
        );
        assert_eq!((block, consumer.ready(), consumer.lost()), ([7; 5], 0, 2));
        assert_eq!(consumer.take(&mut block), None);
    }

    #[test]
    fn the_producer_looks_back_at_what_it_pushed() {
        let words = memory(Ring::words_for(4, 1));
        let mut ring = Ring::new(&words, 1).unwrap();
        let (mut producer, _) = ring.split();
        assert!(producer.recent(0).is_none());
        for n in 0..11u8 {
            producer.push(&[n]).unwrap();
        }
        let seen: Vec<_> = (0..5)
            .map(|age| producer.recent(age).map(|block| block.number()))
            .collect();
        assert_eq!(seen, [Some(10), Some(9), Some(8), Some(7), None]);
    }

    #[test]
    fn memory_for_less_than_two_blocks_and_blocks_of_no_bytes_are_refused() {
        let words = memory(7);
        assert!(Ring::new(&words, 0).is_err());
        assert!(Ring::new(&words, 13).is_err());
        assert!(Ring::new(&[], 4).is_err());
        let mut ring = Ring::new(&words, 8).unwrap();
        assert_eq!(ring.capacity(), 2);
        assert_eq!(ring.split().0.push(&[0; 7]), Err(Refused::Length));
    }

    #[test]
    fn two_threads_pass_every_block_or_count_it() {
        const PUSHES: u32 = 200_000;
        let words = memory(Ring::words_for(64, 12));
        let mut ring = Ring::new(&words, 12).unwrap();
        let (mut producer, mut consumer) = ring.split();
        producer.trigger();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..PUSHES {
                    let mut block = [0; 12];
                    for part in block.chunks_mut(4) {
                        part.copy_from_slice(&n.to_le_bytes());
                    }
                    let _ = producer.push(&block);
                }
                done.store(true, Release);
            });
            let (mut taken, mut missed, mut next) = (0, 0, 0);
            loop {
                let last_look = done.load(Acquire);
                let mut block = [0; 12];
                while let Some(gap) = consumer.take(&mut block) {
                    next += gap;
                    for part in block.chunks(4) {
                        assert_eq!(part, next.to_le_bytes(), "a block of two pushes");
                    }
                    (taken, missed, next) = (taken + 1, missed + gap, next + 1);
                }
                if last_look {
                    break;
                }
            }
            // What was refused after the last accepted block no later block tells.
            assert_eq!(taken + consumer.lost(), PUSHES);
            assert!(missed <= consumer.lost());
        });
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push(u8),
        Trigger,
        Take,
        Release(u32),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => any::<u8>().prop_map(Step::Push),
            1 => Just(Step::Trigger),
            3 => Just(Step::Take),
            1 => (0..5u32).prop_map(Step::Release),
        ]
    }

    proptest! {
        /// Against a queue that does the obvious thing.
        #[test]
        fn it_behaves_as_a_bounded_queue(
            blocks in 2usize..6,
            block_bytes in 1usize..10,
            steps in prop::collection::vec(step(), 0..200),
        ) {
            let words = memory(Ring::words_for(blocks, block_bytes));
            let mut ring = Ring::new(&words, block_bytes).unwrap();
            let (mut producer, mut consumer) = ring.split();
            let mut queue = VecDeque::new();
            let (mut triggered, mut number, mut refused, mut missing) = (false, 0u32, 0, VecDeque::new());
            for step in steps {
                match step {
                    Step::Push(value) => {
                        let room = queue.len() < blocks;
                        let pushed = producer.push(&std::vec![value; block_bytes]);
                        if !room && triggered {
                            prop_assert_eq!(pushed, Err(Refused::Full));
                            refused += 1;
                        } else {
                            prop_assert_eq!(pushed, Ok(()));
                            if !room {
                                queue.pop_front();
                                missing.pop_front();
                            }
                            queue.push_back((number, value));
                            missing.push_back(std::mem::take(&mut refused));
                        }
                        number += 1;
                    }
                    Step::Trigger => {
                        producer.trigger();
                        triggered = true;
                    }
                    Step::Take => {
                        let mut bytes = std::vec![0; block_bytes];
                        let taken = consumer.take(&mut bytes);
                        if triggered && let Some((_, value)) = queue.pop_front() {
                            prop_assert_eq!(taken, missing.pop_front());
                            prop_assert_eq!(bytes, std::vec![value; block_bytes]);
                        } else {
                            prop_assert_eq!(taken, None);
                        }
                    }
                    Step::Release(count) => {
                        let can = if triggered { count.min(queue.len() as u32) } else { 0 };
                        prop_assert_eq!(consumer.release(count), can);
                        queue.drain(..can as usize);
                        missing.drain(..can as usize);
                    }
                }
                let held = queue.iter().map(|(number, _)| *number);
                let visible: Vec<u32> = if triggered { held.collect() } else { Vec::new() };
                let seen: Vec<u32> = consumer.blocks().map(|block| block.number()).collect();
                prop_assert_eq!(seen, visible);
                prop_assert_eq!(producer.held() as usize, queue.len());
            }
        }
    }
}
