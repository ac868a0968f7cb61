//! Days and seconds of the proleptic Gregorian calendar, as the wire formats and Ruby count them.

pub(super) const SECONDS_PER_DAY: i64 = 86_400;
pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;

/// Days from 1970-01-01 to a date. Months and days beyond their ranges are not checked.
pub(super) fn days_from_date(year: i64, month: u8, day: u8) -> i64 {
    // Years begin in March, so the leap day is the last of its year.
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((i64::from(month) + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The date that lies `days` after 1970-01-01, as year, month and day.
pub(super) fn date_from_days(days: i64) -> (i64, u8, u8) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month as u8, day as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days() {
        for (date, days) in [
            ((1970, 1, 1), 0),
            ((2000, 1, 1), 10_957),
            ((2000, 2, 29), 11_016),
            ((1969, 12, 31), -1),
            ((2026, 11, 21), 20_778),
            ((1, 1, 1), -719_162),
            ((9999, 12, 31), 2_932_896),
        ] {
            assert_eq!(days_from_date(date.0, date.1, date.2), days);
            assert_eq!(date_from_days(days), date);
        }
    }

    #[test]
    fn every_day_of_two_eras_goes_there_and_back() {
        for days in -200_000..200_000 {
            let (year, month, day) = date_from_days(days);
            assert_eq!(days_from_date(year, month, day), days);
        }
    }
}
