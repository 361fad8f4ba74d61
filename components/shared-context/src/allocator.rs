//! Memory for an instance that lives for one request.
//!
//! The first part is an arena in the module's own memory. Requesting more from the host costs a
//! system call, which takes as long as a small request. An instance that needs more grows, and
//! reuses freed memory, so that it can also serve many requests.

#![expect(unsafe_code, reason = "an allocator hands out memory")]

use core::{alloc::Layout, arch::wasm32::memory_grow};

use talc::{
    base::{Talc, binning::Binning},
    cell::TalcSyncCell,
    source::Source,
    wasm::WasmBinning,
};

/// Memory of a typical request: its bytes, some rows, the reply.
const ARENA_BYTES: usize = 128 * 1024;
/// A page of WebAssembly memory.
const PAGE_BYTES: usize = 64 * 1024;
/// Smallest growth of memory.
const GROWTH_PAGES: usize = 16;
/// Upper bound of the allocator's own overhead in a region.
const OVERHEAD_BYTES: usize = 1024;

static mut ARENA: [u8; ARENA_BYTES] = [0; ARENA_BYTES];

#[global_allocator]
static ALLOCATOR: TalcSyncCell<ArenaThenGrow, WasmBinning> =
    TalcSyncCell::new_wasm(ArenaThenGrow { is_arena_claimed: false });

/// Memory source: the arena first, then the host.
#[derive(Debug)]
struct ArenaThenGrow {
    is_arena_claimed: bool,
}

// SAFETY: uses no allocator and no type that allocates.
unsafe impl Source for ArenaThenGrow {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        if !talc.source.is_arena_claimed {
            talc.source.is_arena_claimed = true;
            // SAFETY: this is the only use of the arena.
            return unsafe { talc.claim((&raw mut ARENA).cast(), ARENA_BYTES) }.map(drop).ok_or(());
        }
        let needed = layout.size().saturating_add(layout.align()).saturating_add(OVERHEAD_BYTES);
        let pages = needed.div_ceil(PAGE_BYTES).max(GROWTH_PAGES);
        let end = memory_grow::<0>(pages);
        if end == usize::MAX {
            return Err(());
        }
        let region = core::ptr::without_provenance_mut::<u8>(end.wrapping_mul(PAGE_BYTES));
        // SAFETY: these pages have just been added, and nothing else refers to them.
        unsafe { talc.claim(region, pages.wrapping_mul(PAGE_BYTES)) }.map(drop).ok_or(())
    }
}
