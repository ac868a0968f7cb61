# frozen_string_literal: true

require_relative "board_case"

# When seasons begin and end, where clocks change and where they do not.
class CalendarTest < Minitest::Test
  def period(length, zone, *time)
    ends = Leaderboards::Boards::Calendar.new(length, zone).period(Time.utc(*time).to_i)
    ends.map { |at| Time.at(at).utc.strftime("%F %T") }
  end

  def test_periods_in_utc
    assert_equal ["2026-03-28 12:00:00", "2026-03-28 13:00:00"], period("hour", "UTC", 2026, 3, 28, 12, 59, 59)
    assert_equal ["2026-03-28 00:00:00", "2026-03-29 00:00:00"], period("day", "UTC", 2026, 3, 28)
    assert_equal ["2026-03-23 00:00:00", "2026-03-30 00:00:00"], period("week", "UTC", 2026, 3, 29, 23, 59, 59)
    assert_equal ["2026-02-01 00:00:00", "2026-03-01 00:00:00"], period("month", "UTC", 2026, 2, 28, 23, 59, 59)
    assert_equal ["2026-12-01 00:00:00", "2027-01-01 00:00:00"], period("month", "UTC", 2026, 12, 31)
  end

  def test_a_day_with_23_and_one_with_25_hours
    assert_equal ["2026-03-28 23:00:00", "2026-03-29 22:00:00"], period("day", "Europe/Berlin", 2026, 3, 29, 12)
    assert_equal ["2026-10-24 22:00:00", "2026-10-25 23:00:00"], period("day", "Europe/Berlin", 2026, 10, 25, 12)
  end

  def test_a_day_that_has_no_midnight_or_two
    assert_equal ["2018-11-04 03:00:00", "2018-11-05 02:00:00"], period("day", "America/Sao_Paulo", 2018, 11, 4, 12)
    assert_equal ["2018-02-17 02:00:00", "2018-02-18 03:00:00"], period("day", "America/Sao_Paulo", 2018, 2, 17, 12),
                 "23:00 to 0:00 is there twice"
    assert_equal ["2025-11-02 04:00:00", "2025-11-03 05:00:00"], period("day", "America/Havana", 2025, 11, 2, 12),
                 "0:00 to 1:00 is there twice"
  end

  def test_hours_of_a_zone_that_is_half_an_hour_off
    assert_equal ["2026-03-28 11:30:00", "2026-03-28 12:30:00"], period("hour", "Asia/Kolkata", 2026, 3, 28, 12)
    assert_equal ["2026-03-27 18:30:00", "2026-03-28 18:30:00"], period("day", "Asia/Kolkata", 2026, 3, 28, 12)
  end

  def test_zones
    zones = ["UTC", "Europe/Berlin", "Mars/Base", "../../etc/passwd", ""]
    assert_equal [true, true, false, false, false], zones.map { |zone| Leaderboards::Boards::Calendar.zone?(zone) }
  end
end
