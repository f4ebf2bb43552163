//! Checks that a program needs no other file to run.

/// The type of the segment that names a loader, which has to be started instead.
const PT_INTERP: u32 = 3;

/// Returns the reason why a file is not a program that can run alone, or `None` if it is one. A
/// file that cannot be parsed is not one.
pub(crate) fn objection(file: &[u8]) -> Option<&'static str> {
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return Some("not a 64-bit program of Linux");
    }
    let Some(mut types) = segment_types(file) else { return Some("a damaged program") };
    types
        .any(|kind| kind.is_none_or(|kind| kind == PT_INTERP))
        .then_some("a program that needs a dynamic loader, or a damaged one")
}

/// Returns the type of each segment; `None` for a segment that lies outside the file.
fn segment_types(file: &[u8]) -> Option<impl Iterator<Item = Option<u32>>> {
    let table = usize::try_from(u64::from_le_bytes(bytes(file, 32)?)).ok()?;
    let size = usize::from(u16::from_le_bytes(bytes(file, 54)?));
    let count = usize::from(u16::from_le_bytes(bytes(file, 56)?));
    Some((0..count).map(move |n| bytes(file, table.checked_add(n * size)?).map(u32::from_le_bytes)))
}

fn bytes<const N: usize>(file: &[u8], at: usize) -> Option<[u8; N]> {
    file.get(at..at.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a header with segments of these types.
    fn program(types: &[u32]) -> Vec<u8> {
        let mut file = b"\x7fELF\x02\x01".to_vec();
        file.resize(64, 0);
        file[32] = 64;
        file[54] = 56;
        file[56] = types.len() as u8;
        for kind in types {
            file.extend(kind.to_le_bytes());
            file.resize(file.len() + 52, 0);
        }
        file
    }

    #[test]
    fn a_static_program_is_taken() {
        assert_eq!(objection(&program(&[1, 1, 0x6474_e551])), None);
    }

    #[test]
    fn a_program_with_a_loader_and_a_script_are_not() {
        assert!(objection(&program(&[1, PT_INTERP])).is_some_and(|what| what.contains("loader")));
        assert!(objection(b"#!/bin/sh\n").is_some_and(|what| what.contains("not a 64-bit program")));
    }

    #[test]
    fn a_file_that_ends_early_is_not_taken_for_a_program() {
        let whole = program(&[1, 1]);
        for length in 0..whole.len() - 52 {
            assert!(objection(&whole[..length]).is_some(), "{length}");
        }
        let mut far = whole;
        far[32..40].fill(0xff);
        assert!(objection(&far).is_some());
    }
}
