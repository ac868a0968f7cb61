# frozen_string_literal: true

# Not when there is an error: the process may have no descriptor left to load it.
Elah.const_get(:ErrorReports)

module Elah
  class Sink
    # Log lines and error reports of a sink: deliveries fail, deliveries work again, events became dead letters. Each kind is limited in frequency.
    class Notices
      PAUSE_SECONDS = 60

      # @param name [String] of the sink
      # @param clock [#call] seconds
      def initialize(name, clock: Concurrency.method(:now))
        @name = name
        @clock = clock
        @told_at = {}
        @unsaid = 0
        @is_failing = false
      end

      # @param error [String] error of the attempt
      # @param exception [Exception, nil] the same, for the report
      # @return [void]
      def failed(error, exception = nil)
        return if @is_failing || !due?(:failed)

        @is_failing = true
        Log.current.warn("The sink #{@name} cannot deliver; accepted events stay in the journal: #{first_line(error)}")
        ErrorReports.report(exception, severity: :warning, sink: @name) if exception
      end

      # The log has the reason with the dead letters.
      #
      # @param exception [Exception] that the destination raised for one event
      # @param event_id [String]
      # @return [void]
      def refused(exception, event_id)
        ErrorReports.report(exception, sink: @name, event_id: event_id) if due?(:refused)
      end

      # @param seconds [Float] since the first failure
      # @return [void]
      def succeeded(seconds)
        Log.current.info("The sink #{@name} delivers again, after #{seconds.round(1)} s") if @is_failing
        @is_failing = false
      end

      # @param letters [Array<DeadLetter>]
      # @return [void]
      def parked(letters)
        @unsaid += letters.size
        return if letters.empty? || !due?(:parked)

        Log.current.warn("Dead letters of the sink #{@name}: #{@unsaid} more; `elah sink dead #{@name}` lists them. " \
                         "The last one's reason: #{first_line(letters.last.reason)}")
        @unsaid = 0
      end

      # @param damages [Array<Array(String, Integer, Boolean)>] path, offset, and whether the file only ends before its last sync
      # @return [void]
      def damaged(damages)
        damages.each do |path, offset, is_torn|
          if is_torn
            Log.current.warn("#{path} of the sink #{@name} ends at byte #{offset} in a part of an event: the machine stopped before that was on " \
                             "the disk. Events that waited for a sync are not missing.")
          else
            Log.current.error("A file of the sink #{@name} was damaged at byte #{offset}. It is kept as #{path}: events before that byte are " \
                              "delivered, those behind it are not. Run `elah sink salvage #{@name}` to read them, and check the disk.")
          end
        end
      end

      private

      def first_line(text) = Text.utf8(text)[/\A.*/]

      def due?(kind)
        now = @clock.call
        return false if @told_at.key?(kind) && now - @told_at[kind] < PAUSE_SECONDS

        @told_at[kind] = now
        true
      end
    end
  end
end
