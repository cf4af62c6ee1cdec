//! Whether this processor has the instructions that the program is built from.

/// What to say where it has not, and what to try.
pub const TOO_OLD: &str = "perfdb-gate: this processor lacks AVX2, BMI2, FMA or others of the instructions that this program is built from (x86-64-v3)
hint: build it on this machine with RUSTFLAGS=\"-C target-cpu=native\" cargo build --release
";

/// Bits of registers after `cpuid`; of its leaf 1, ECX: SSE3, SSSE3, FMA, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE (the
/// system keeps wide registers), AVX, F16C. Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
const BASIC: u32 =
    1 | 1 << 9 | 1 << 12 | 1 << 19 | 1 << 20 | 1 << 22 | 1 << 23 | 1 << 27 | 1 << 28 | 1 << 29;
/// Of leaf 7, EBX: BMI1, AVX2, BMI2.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
const STRUCTURED: u32 = 1 << 3 | 1 << 5 | 1 << 8;
/// Of leaf 0x8000_0001, ECX: LZCNT.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
const EXTENDED: u32 = 1 << 5;

/// Whether the processor has what x86-64-v3 asks for. The standard library's test of a feature does not help: it is
/// decided when the program is built. Numbers alone are handled here, since moving anything wider may take an
/// instruction that the processor lacks.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
pub fn is_new_enough() -> bool {
    use std::arch::x86_64::__cpuid;
    let has = |register: u32, bits: u32| register & bits == bits;
    __cpuid(0).eax >= 7
        && has(__cpuid(1).ecx, BASIC)
        && has(__cpuid(7).ebx, STRUCTURED)
        && __cpuid(0x8000_0000).eax > 0x8000_0000
        && has(__cpuid(0x8000_0001).ecx, EXTENDED)
}

/// Every processor of its kind has what the program is built from.
#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
pub fn is_new_enough() -> bool {
    true
}
