//! Compiles the firmware's Rust part to a static library, checks what that defines, and lays out an Arduino library.
//!
//! [`toolchain`] finds who can compile for a target, [`compile`] calls it, [`archive`] keeps what C calls and refuses
//! anything else, [`library`] makes the folder that the IDE takes.

pub mod archive;
pub mod compile;
pub mod library;
pub mod toolchain;

use object::Architecture;

/// What the firmware is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    /// The ESP32-S3: Xtensa, by the `esp` toolchain
    Esp32s3,
    /// The ESP32-C3: RISC-V without atomics and floating point
    Riscv32imc,
    /// This machine, for tests
    Host,
}

impl Target {
    /// Rust's name for it; `None` for the host's own.
    pub fn triple(self) -> Option<&'static str> {
        match self {
            Target::Esp32s3 => Some("xtensa-esp32s3-none-elf"),
            Target::Riscv32imc => Some("riscv32imc-unknown-none-elf"),
            Target::Host => None,
        }
    }

    /// The folder below `src` in which the Arduino tools look for a precompiled archive: `build.mcu` of the core's
    /// boards.txt. A wrong name there compiles nothing and says little, so it is never typed. `None` where no board is.
    pub fn mcu(self) -> Option<&'static str> {
        match self {
            Target::Esp32s3 => Some("esp32s3"),
            Target::Riscv32imc => Some("esp32c3"),
            Target::Host => None,
        }
    }

    /// What the object in the archive must be for; `None` where it is whatever the host is.
    pub fn architecture(self) -> Option<Architecture> {
        match self {
            Target::Esp32s3 => Some(Architecture::Xtensa),
            Target::Riscv32imc => Some(Architecture::Riscv32),
            Target::Host => None,
        }
    }

    /// The name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Target::Esp32s3 => "esp32s3",
            Target::Riscv32imc => "riscv32imc",
            Target::Host => "host",
        }
    }
}
