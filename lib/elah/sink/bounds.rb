# frozen_string_literal: true

module Elah
  class Sink
    # Bounds of one sink: the arguments of {Sink#initialize}, otherwise the options of the process.
    class Bounds
      OPTIONS = %i[sink_journal_bytes_max sink_event_bytes_max sink_batch_events_max sink_batch_bytes_max sink_linger_seconds
                   sink_sync_seconds sink_retry_seconds sink_retry_max_seconds sink_attempt_seconds sink_dead_max sink_adopt_seconds
                   sink_minutes_max sink_awaiting_max sink_busy_share].freeze
      SEGMENT_BYTES_MAX = 8 * 1024**2
      SEGMENTS_MIN = 4
      PAGE_BYTES = 4096
      # More than the header of a segment, and what a record has beside its event.
      OVERHEAD_BYTES = 512
      private_constant :SEGMENT_BYTES_MAX, :SEGMENTS_MIN, :PAGE_BYTES, :OVERHEAD_BYTES

      OPTIONS.each { |option| attr_reader option.to_s.delete_prefix("sink_") }

      # @return [Integer] bytes of each of the journal's files
      attr_reader :segment_bytes

      # @param given [Hash{Symbol=>Object}] bounds by the names of the options, without `sink_`
      # @param config [Elah::Config]
      # @raise [Elah::OptionError] when a name or a value is invalid
      def initialize(given, config)
        unknown = given.keys.find { |name| !OPTIONS.include?(:"sink_#{name}") }
        raise OptionError, "A sink has no bound #{unknown}. Its bounds are #{names.join(', ')}." if unknown

        OPTIONS.each do |option|
          name = option.to_s.delete_prefix("sink_")
          value = given[name.to_sym]
          value = value.nil? ? config.public_send(option) : Options.fetch(option, source: "Elah::Sink").check(value, source: "Elah::Sink")
          instance_variable_set(:"@#{name}", value)
        end
        divide_journal
      end

      # @return [Array(Integer, Integer, Integer, Integer)] arguments with which a journal is opened
      def for_journal = [@segment_bytes, @journal_bytes_max / @segment_bytes, @event_bytes_max, (@sync_seconds * 1000).ceil]

      private

      def names = OPTIONS.map { |option| option.to_s.delete_prefix("sink_") }

      # Sixteen segments, unless they would be too large to create at once, or too small for an event.
      def divide_journal
        wanted = [@journal_bytes_max / 16, SEGMENT_BYTES_MAX].min
        needed = (@event_bytes_max + OVERHEAD_BYTES + PAGE_BYTES - 1)
        @segment_bytes = [wanted, needed].max / PAGE_BYTES * PAGE_BYTES
        return if @journal_bytes_max / @segment_bytes >= SEGMENTS_MIN

        raise OptionError, "journal_bytes_max must be at least #{SEGMENTS_MIN * @segment_bytes} bytes while event_bytes_max is " \
                           "#{@event_bytes_max}, not #{@journal_bytes_max}."
      end
    end
  end
end
