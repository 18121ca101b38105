//! A full disk, said as such.

use std::io::ErrorKind;
use std::path::Path;

/// Adds the folder and its free space to an error that a full disk caused; leaves others alone.
pub(super) fn explain(error: anyhow::Error, folder: &Path) -> anyhow::Error {
    if !is_full(&error) {
        return error;
    }
    let free = match fs4::available_space(folder) {
        Ok(bytes) => format!("{:.1} MB free", bytes as f64 / 1e6),
        Err(error) => format!("free space unknown: {error}"),
    };
    error.context(format!(
        "the disk that holds {} is full ({free}); make room, or choose another folder with --work-dir",
        folder.display()
    ))
}

fn is_full(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let kind = cause
            .downcast_ref::<std::io::Error>()
            .map(std::io::Error::kind);
        if matches!(
            kind,
            Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
        ) {
            return true;
        }
        // libgit2 and git tell it in words: those of the C library, and of Windows (ERROR_DISK_FULL).
        let words = cause.to_string();
        [
            "No space left on device",
            "Disk quota exceeded",
            "not enough space on the disk",
        ]
        .iter()
        .any(|sign| words.contains(sign))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said_with_folder_and_free_space() {
        let dir = tempfile::tempdir().unwrap();
        let causes = [
            anyhow::Error::from(std::io::Error::from(ErrorKind::StorageFull)),
            anyhow::anyhow!("failed to write pack: No space left on device"),
            anyhow::anyhow!("There is not enough space on the disk."),
        ];
        for cause in causes {
            let text = format!(
                "{:#}",
                explain(cause.context("fetching esp-idf"), dir.path())
            );
            assert!(
                text.contains(&dir.path().display().to_string()) && text.contains("MB free"),
                "{text}"
            );
            assert!(text.contains("fetching esp-idf"), "{text}");
        }
        let other = anyhow::anyhow!("connection refused");
        assert_eq!(explain(other, dir.path()).to_string(), "connection refused");
    }
}
