//! SHA-256, in the lower-case hex in which it travels everywhere.

use std::io::Read;
use std::path::Path;

use anyhow::Result;
use fs_err as fs;
use sha2::{Digest, Sha256};

/// Bytes in lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of `bytes`.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Size in bytes and SHA-256 of a file, which is not held in memory.
///
/// # Errors
/// The file cannot be read.
pub fn sha256_file(path: &Path) -> Result<(u64, String)> {
    let mut file = fs::File::open(path)?;
    let (mut hasher, mut size) = (Sha256::new(), 0);
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((size, hex(&hasher.finalize()))),
            count => {
                hasher.update(&buffer[..count]);
                size += count as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_its_bytes_have_one_digest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let content = vec![7; 300_000];
        fs::write(&path, &content).unwrap();
        assert_eq!(sha256_file(&path).unwrap(), (300_000, sha256(&content)));
        // FIPS 180-2, appendix B.1.
        assert!(sha256(b"abc").starts_with("ba7816bf8f01cfea"));
    }
}
