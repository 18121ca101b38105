//! What a program leaves of PSRAM.
//!
//! Copied code and constants take whole pages from PSRAM's start; with ECC a sixteenth is not there (ESP-IDF
//! components/esp_psram/esp32s3/esp_psram_impl_octal.c, esp_psram_impl_get_available_size); a program that does not fit
//! aborts at boot (system_layer/esp_psram.c, s_xip_psram_placement).

use serde::Serialize;

use super::program::{Placement, Program};

/// Sizes of PSRAM that parts come with, in MB (powers of two).
pub const SIZES: [u32; 4] = [2, 4, 8, 16];

/// What a program takes of PSRAM before it begins, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Need {
    /// Copied code.
    pub code: u64,
    /// Copied constants.
    pub constants: u64,
    /// Variables that the sketch puts there.
    pub variables: u64,
    /// Whether ECC takes its sixteenth.
    pub ecc: bool,
}

/// What is left on a part, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Left {
    /// The part's PSRAM in MB.
    pub size_mb: u32,
    /// Without ECC's sixteenth.
    pub usable: u64,
    /// For the heap; `None` where the program does not fit.
    pub left: Option<u64>,
}

impl Need {
    /// What `program` takes if it runs from where its symbols say.
    pub fn of(program: &Program, placement: Placement, ecc: bool) -> Self {
        let copied = |pages: u64| {
            if placement == Placement::Psram {
                pages
            } else {
                0
            }
        };
        Self {
            code: copied(program.code_pages()),
            constants: copied(program.constant_pages()),
            variables: program.variables(),
            ecc,
        }
    }

    /// All of it, in bytes.
    pub fn total(&self) -> u64 {
        self.code + self.constants + self.variables
    }

    /// What is left on a part with `size_mb` MB.
    pub fn left(&self, size_mb: u32) -> Left {
        let size = u64::from(size_mb) * 1024 * 1024;
        let usable = if self.ecc { size / 16 * 15 } else { size };
        Left {
            size_mb,
            usable,
            left: usable.checked_sub(self.total()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sixteenth_and_whole_pages_are_gone() {
        let need = Need {
            code: 0x10_0000,
            constants: 0x9_0000,
            variables: 100,
            ecc: true,
        };
        let left = need.left(2);
        assert_eq!(left.usable, 0x1E_0000);
        assert_eq!(left.left, Some(0x1E_0000 - 0x19_0000 - 100));
        // ESP-IDF's own example: of 8 MB 7.5 are left.
        assert_eq!(need.left(8).usable, 15 << 19);
        let large = Need {
            code: 0x1F_0000,
            ..need
        };
        assert_eq!(large.left(2).left, None);
        let without = Need {
            ecc: false,
            constants: 0,
            variables: 0,
            ..large
        };
        assert_eq!(without.left(2).left, Some(0x1_0000));
    }
}
