//! Memory for secrets, in slots of one size: locked, so that it is not written to swap, left out of core
//! dumps, and zero again when it is given back.

use std::io;

use memmap2::{Advice, MmapMut};
use zeroize::Zeroize;

/// Bytes of a slot.
pub(super) const SLOT: usize = 512;
/// A page of most machines. Limits of locked memory may be as low as sixteen of them.
const BLOCK: usize = 4096;
const SLOTS: usize = BLOCK / SLOT;

/// Slots, made when they are needed.
#[derive(Default)]
pub(super) struct LockedSlots {
    blocks: Vec<MmapMut>,
    free: Vec<LockedSlot>,
}

/// One slot, which its owner may read and write in the memory that the slot was taken from.
pub(super) struct LockedSlot {
    block: usize,
    at: usize,
}

impl LockedSlots {
    /// A slot, which is zero. `refused` is told why new memory is not locked; it is used nevertheless.
    pub(super) fn take(&mut self, refused: impl FnOnce(io::Error)) -> io::Result<LockedSlot> {
        if let Some(slot) = self.free.pop() {
            return Ok(slot);
        }
        let memory = MmapMut::map_anon(BLOCK)?;
        // An old kernel may know neither; the memory is only less well kept then.
        let _ = memory.advise(Advice::DontDump);
        let _ = memory.advise(Advice::DontFork);
        if let Err(e) = memory.lock() {
            refused(e);
        }
        let block = self.blocks.len();
        self.blocks.push(memory);
        self.free.extend((1..SLOTS).rev().map(|n| LockedSlot { block, at: n * SLOT }));
        Ok(LockedSlot { block, at: 0 })
    }

    /// Clears a slot, for the next one who takes it.
    pub(super) fn give_back(&mut self, slot: LockedSlot) {
        self.bytes_mut(&slot).zeroize();
        self.free.push(slot);
    }

    /// What is in it: [`SLOT`] bytes.
    pub(super) fn bytes(&self, slot: &LockedSlot) -> &[u8] {
        let block = self.blocks.get(slot.block).map(|block| &block[..]);
        block.and_then(|block| block.get(slot.at..slot.at + SLOT)).unwrap_or_default()
    }

    /// The bytes of a slot, to be written.
    pub(super) fn bytes_mut(&mut self, slot: &LockedSlot) -> &mut [u8] {
        let block = self.blocks.get_mut(slot.block).map(|block| &mut block[..]);
        block.and_then(|block| block.get_mut(slot.at..slot.at + SLOT)).unwrap_or_default()
    }
}

impl Drop for LockedSlots {
    fn drop(&mut self) {
        for block in &mut self.blocks {
            block.zeroize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked_kibibytes() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").expect("of this process");
        let line = status.lines().find(|l| l.starts_with("VmLck:")).expect("locked memory");
        line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
    }

    #[test]
    fn slots_are_apart_locked_and_zero_when_they_are_taken() {
        let mut slots = LockedSlots::default();
        let mut refused = 0;
        let mut taken: Vec<LockedSlot> =
            (0..=SLOTS).map(|_| slots.take(|_| refused += 1).expect("memory")).collect();
        if refused == 0 {
            assert!(locked_kibibytes() >= 2 * BLOCK / 1024);
        }
        for (n, slot) in (1..).zip(&taken) {
            assert_eq!(slots.bytes(slot), [0; SLOT]);
            slots.bytes_mut(slot).fill(n);
        }
        for (n, slot) in (1..).zip(&taken) {
            assert_eq!(slots.bytes(slot), [n; SLOT]);
        }
        slots.give_back(taken.remove(0));
        let again = slots.take(|_| panic!("no new memory is needed")).expect("the same one");
        assert_eq!(slots.bytes(&again), [0; SLOT]);
    }
}
