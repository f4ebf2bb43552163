//! Matches the five fields of cron against local time. The fields were checked when the document
//! was read.

use setpoint_documents::Cron;

/// The fields as sets of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Times {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Day and weekday are both named: as in cron, one of them is enough.
    either_day: bool,
}

impl Times {
    pub(super) fn of(cron: &Cron) -> Self {
        let fields: Vec<&str> = cron.as_str().split_ascii_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else { unreachable!("a cron time has five fields") };
        let weekday_set = set(weekdays, 0, 7);
        Self {
            minutes: set(minutes, 0, 59),
            hours: set(hours, 0, 23),
            days: set(days, 1, 31),
            months: set(months, 1, 12),
            // Sunday is 0 and 7.
            weekdays: weekday_set | weekday_set >> 7,
            either_day: !days.starts_with('*') && !weekdays.starts_with('*'),
        }
    }

    /// Reports whether a date matches. `weekday` counts from Sunday, which is 0.
    pub(super) fn match_date(&self, month: i8, day: i8, weekday: i8) -> bool {
        let (day, weekday) = (has(self.days, day), has(self.weekdays, weekday));
        has(self.months, month) && if self.either_day { day || weekday } else { day && weekday }
    }

    /// Returns the hours and minutes that match, in order.
    pub(super) fn of_day(&self) -> impl Iterator<Item = (i8, i8)> + '_ {
        let minutes = move |hour| (0..60).filter(|minute| has(self.minutes, *minute)).map(move |minute| (hour, minute));
        (0..24).filter(|hour| has(self.hours, *hour)).flat_map(minutes)
    }
}

fn has(set: u64, number: i8) -> bool {
    set >> number & 1 == 1
}

/// Parses the numbers of a field: `*`, `n`, `n-m`, each with or without `/step`, separated by
/// commas.
fn set(field: &str, least: u32, most: u32) -> u64 {
    let number = |text: &str| text.parse::<u32>().expect("numbers were checked when the document was read");
    let mut set = 0;
    for item in field.split(',') {
        let (range, step) = item.split_once('/').map_or((item, None), |(range, step)| (range, Some(number(step))));
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (least, most),
            Some((from, to)) => (number(from), number(to)),
            // As in cron: `5/10` continues to the end of the range.
            None => (number(range), if step.is_some() { most } else { number(range) }),
        };
        for n in (from..=to).step_by(step.unwrap_or(1) as usize) {
            set |= 1 << n;
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(field: &str, least: u32, most: u32) -> Vec<u32> {
        (0..64).filter(|n| set(field, least, most) >> n & 1 == 1).collect()
    }

    #[test]
    fn fields_are_the_numbers_cron_takes_them_for() {
        assert_eq!(numbers("*/20", 0, 59), [0, 20, 40]);
        assert_eq!(numbers("1,3-5,10-20/5", 1, 31), [1, 3, 4, 5, 10, 15, 20]);
        assert_eq!(numbers("45/5", 0, 59), [45, 50, 55]);
        assert_eq!(numbers("*", 1, 12), (1..=12).collect::<Vec<_>>());
    }
}
