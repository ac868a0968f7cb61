# frozen_string_literal: true

module Stats
  # The sums: the number of events in each minute, hour and day, in total and by path, event and kind of bot. They are written in
  # the transaction that stores the events, so they are exact up to a number of events, the offset.
  class Rollups
    # seconds: of one bucket · kept_seconds: how long a bucket is kept
    Unit = Struct.new(:letter, :seconds, :kept_seconds)
    DAY = 86_400
    UNITS = { "minute" => Unit.new("m", 60, 7 * DAY), "hour" => Unit.new("h", 3600, 90 * DAY), "day" => Unit.new("d", DAY, 1095 * DAY) }.freeze
    KEPT_SECONDS = UNITS.values.to_h { |unit| [unit.letter, unit.kept_seconds] }.freeze
    DIMENSIONS = { "total" => "t", "path" => "p", "event" => "e", "bot" => "b" }.freeze
    # How far apart the events of a visitor's day may be processed, if it shall count once: a destination may be away, an event parked.
    SEEN_SECONDS = 7 * DAY
    # Values of a dimension that are counted separately in one bucket; the others are counted together.
    VALUES_MAX = 1000
    VALUE_BYTES_MAX = 256
    OTHER = "(other)"
    # Buckets whose values are cached.
    REMEMBERED_MAX = 24

    # Row of a response. at: seconds since 1970 · visitors: only of days and in total
    Row = Struct.new(:at, :value, :events, :bots, :visitors)

    # @param store [Elah::Store]
    def initialize(store)
      @table = store.table("rollups")
      @seen = store.table("seen_visitors")
      @meta = store.table("rollup_state")
      @values = {}
    end

    # Adds events that were not counted before.
    #
    # @param tx [Elah::Store::Transaction]
    # @param events [Array<EventFields>]
    # @return [void]
    def add(tx, events)
      # Ruby copies an unfrozen key into its table of unique strings, which grows and stays large.
      sums = Hash.new { |all, key| all[key.freeze] = [0, 0, 0] }
      # Many events count in the same buckets.
      events.map(&:group).tally.each { |group, alike| count(sums, group, alike) }
      count_visitors(tx, sums, events)
      tx.preload(@meta, "offset", *sums.keys.flat_map { |key| [@table, key] })
      sums.each { |key, changes| add_to(tx, key, changes) }
      tx.put(@meta, "offset", [(tx.get(@meta, "offset")&.unpack1("Q>") || 0) + events.size].pack("Q>"))
    end

    # Forgets on which days a visitor was seen. The sums stay.
    #
    # @param visitor [String]
    # @return [void]
    def forget(visitor) = @seen.range(prefix: visitor).each { |key, _| @seen.delete(key) }

    # @return [Integer] how many events are in the sums
    def offset = @meta.get("offset")&.unpack1("Q>") || 0

    # @param per [String] one of {UNITS}
    # @param by [String] one of {DIMENSIONS}
    # @param from [Integer] seconds since 1970; the bucket that it is in is the first
    # @param to [Integer] seconds since 1970; the bucket that it is in is the last
    # @param after [String, nil] where the page before ended
    # @param limit [Integer]
    # @return [Array(Array<Row>, (String, nil))] in the order of time and value, and where the next page begins
    def rows(per, by, from:, to:, after: nil, limit: 1000)
      unit = UNITS.fetch(per)
      prefix = unit.letter + DIMENSIONS.fetch(by)
      place = after ? { after: prefix + after } : { from: prefix + bucket(from, unit) }
      found = @table.range(**place, to: prefix + bucket(to + unit.seconds, unit), limit: limit)
      rows = found.map { |key, sums| row(key, sums, unit) }
      [rows, (found.last.first.byteslice(2..) if found.size == limit)]
    end

    private

    def count(sums, (minute, path, event, bot), events)
      values = { "total" => "", "path" => path, "event" => event, "bot" => bot }.compact
      UNITS.each_value do |unit|
        bucket = bucket(minute * 60, unit)
        values.each do |dimension, value|
          key = "#{unit.letter}#{DIMENSIONS.fetch(dimension)}#{bucket}".b
          key << admitted(key, value).b unless dimension == "total"
          sum = sums[key]
          sum[0] += events
          sum[1] += events if bot
        end
      end
    end

    def count_visitors(tx, sums, events)
      unit = UNITS.fetch("day")
      days = Hash.new { |all, visitor| all[visitor.freeze] = {} }
      events.each { |event| days[event.visitor][event.seconds / DAY] = true if event.visitor }
      seen = days.flat_map { |visitor, all| all.keys.map { |day| [bucket(day * DAY, unit), visitor] } }
      tx.preload(*seen.flat_map { |bucket, visitor| [@seen, visitor + bucket] })
      seen.each do |bucket, visitor|
        next unless tx.put_new(@seen, visitor + bucket, "", ttl: SEEN_SECONDS)

        sums["#{unit.letter}#{DIMENSIONS.fetch('total')}".b << bucket][2] += 1
      end
    end

    def add_to(tx, key, changes)
      before = tx.get(@table, key)&.unpack("q>3") || [0, 0, 0]
      tx.put(@table, key, before.zip(changes).map(&:sum).pack("q>3"), ttl: KEPT_SECONDS.fetch(key[0]))
    end

    def bucket(seconds, unit) = [seconds / unit.seconds].pack("N")

    # The value itself, unless its bucket has too many values.
    def admitted(prefix, value)
      known = @values[prefix] || remember(prefix)
      return value if known.key?(value)
      return OTHER if known.size >= VALUES_MAX || value.bytesize > VALUE_BYTES_MAX

      known[value] = true
      value
    end

    def remember(prefix)
      @values.shift if @values.size >= REMEMBERED_MAX
      keys = @table.range(prefix: prefix, limit: VALUES_MAX).map { |key, _| key.byteslice(prefix.bytesize..) }
      @values[prefix.dup.freeze] = keys.to_h { |value| [value.force_encoding(Encoding::UTF_8), true] }
    end

    def row(key, sums, unit)
      events, bots, visitors = sums.unpack("q>3")
      Row.new(key.byteslice(2, 4).unpack1("N") * unit.seconds, key.byteslice(6..).force_encoding(Encoding::UTF_8), events, bots, visitors)
    end
  end
end
