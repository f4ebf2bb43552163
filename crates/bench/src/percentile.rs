//! Percentiles of measured figures.

/// Returns the smallest figure that this percentage of figures does not exceed; no number if there
/// are none.
pub(crate) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_figure_that_was_measured() {
        let figures: Vec<f64> = (1..=1_000).map(f64::from).collect();
        assert_eq!(
            (percentile(&figures, 99), percentile(&figures, 50), percentile(&figures, 100)),
            (990.0, 500.0, 1_000.0)
        );
        assert!(percentile(&[], 99).is_nan());
    }
}
