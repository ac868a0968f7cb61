# frozen_string_literal: true

require_relative "activation"
require_relative "timer"

module Elah
  class Entity
    # The timers of a collection's entities in the shards that this worker owns. It keeps the time of the earliest one of each shard, and at most
    # {LOOK_AHEAD} timers that are due; all others are only in the store. A timer fires as a call of its entity, which removes it: of several workers
    # that believe to own the entity, only the owner's call is stored.
    class Timers
      # Maximum time between two looks at the clock, the claims and the scoreboard.
      TICK_SECONDS = 0.5
      # Maximum number of due timers in memory.
      LOOK_AHEAD = 256
      # Number of rows that are read at once.
      ROWS = 16
      # Maximum number of calls at a time.
      RUNNING_MAX = 64
      # Pause after an attempt that could not be stored, because the store is full for example.
      RETRY_MS = 1000
      # Time for which a fiber lets others run between two calls that do not wait for the disk.
      BREATH_SECONDS = 0.001

      # An entity of a class that has timers. It announces them when the call that set them ends. A call that fails while it waits for its turn does
      # not: the one that runs may have set some.
      class Activation < Entity::Activation
        private

        def finish(result) = announcing { super }
        def forget = announcing { super }

        def announcing
          yield
        ensure
          @collection.timers.announce(@state, @shard, @key)
        end
      end

      # Timers of all collections that have fired in this process, and attempts that failed.
      Counts = Struct.new(:fired, :failed)
      COUNTS = Counts.new(0, 0)
      private_constant :Counts

      # @param collection [Collection]
      def initialize(collection)
        @collection = collection
        @store = collection.store
        @noted = {}.compare_by_identity # times that running calls have set, by the states of their entities
        @pause = @event_loop = nil
      end

      # Starts to fire timers in a loop, unless it does already.
      #
      # @param event_loop [Elah::EventLoop]
      def start(event_loop)
        return if @event_loop.equal?(event_loop)

        @event_loop = event_loop
        event_loop.at_end { @store.servers("timers")&.forget }
        @claims = {} # those under which the shards were read
        @follow_at = @now = 0
        @next = {} # time of the earliest timer of each shard
        @unsettled = {} # batch and earliest time of timers that may not be in the store yet, by shard
        @due = []
        @taken = {} # keys of the entities whose timers are due or fire
        @again = {} # times to which those were set meanwhile
        @stuck = {} # failed attempts and next time by key, of timers that cannot be postponed: the `restore` of their entities fails too
        @running = 0
        @is_crowded = false
        @trouble = nil
        spawn { run }
      end

      # @param state [Elah::Shards::State] of an entity
      # @param time [Integer] that its running call has set
      def note(state, time) = @noted[state] = time

      # The call of an entity has ended.
      #
      # @param state [Elah::Shards::State, nil]
      # @param shard [Integer]
      # @param key [String] of the entity
      def announce(state, shard, key)
        time = @noted.delete(state)
        return unless time && @event_loop

        @stuck.delete(key)
        @unsettled[shard] = [state.last_batch, [time, @unsettled[shard]&.last].compact.min]
        @taken.key?(key) ? @again[key] = time : expect(shard, time)
      end

      private

      # Looks at a shard no later than this. A shard that was not read yet will be.
      def expect(shard, time)
        return unless @claims.key?(shard)

        @next[shard] = time unless @next[shard]&.<=(time)
        wake_up if @pause && time < @pause_ends
      end

      def run
        while true
          begin
            look
            is_read = true
          rescue Store::Closed
            break
          rescue Cancelled
            raise
          rescue StandardError => e # another look may succeed: without this fiber, no timer of the class would fire
            is_read = false
            report_trouble(e)
          end
          @is_crowded = @due.any? # every fiber that may fire timers is busy
          rest(is_read && !@is_crowded ? seconds_to_next : TICK_SECONDS)
        end
      end

      def look
        @now = now = @store.now_ms # raises for a closed store, whose folder this process has left to others
        follow_claims if Concurrency.now >= @follow_at
        shards = @next.select { |_, time| time <= now }.sort_by(&:last).map(&:first)
        @collection.flush if shards.any? { |shard| @unsettled.key?(shard) }
        settled = @collection.commits.refresh
        shards.each { |shard| take(shard, now, settled) if @due.size < LOOK_AHEAD }
        nil while @due.any? && @running < RUNNING_MAX && fires?
      end

      # Starts a fiber that fires due timers. If the system refuses it, the next look tries again.
      def fires?
        @running += 1
        spawn { fire_due }
        true
      rescue Overloaded
        @running -= 1
        false
      end

      # A shard is read once it is claimed: from then on nobody else can add a timer that this worker does not know. Another server on the same
      # folder, by whose calls a shard was lost, leaves its timers to the first one.
      def follow_claims
        servers = @store.servers("timers")
        is_first = servers.nil? || servers.first?
        raise_closed(servers) if @store.closed? # while this fiber waited for the file
        claims = is_first ? @collection.claims_of_owned : {}
        @follow_at = Concurrency.now + TICK_SECONDS
        @next.delete_if { |shard, _| !claims[shard].equal?(@claims[shard]) }
        claims.each { |shard, claim| @next[shard] = 0 unless @claims[shard].equal?(claim) }
        @claims = claims
      end

      # @param servers [Servers, nil] which must not have this process any more
      def raise_closed(servers)
        servers&.forget
        raise Store::Closed, "The store is closed."
      end

      # Takes due timers of a shard, and notes the time of the first other one. Timers may be announced while it reads.
      def take(shard, now, settled)
        @next.delete(shard)
        claim = @claims[shard] or return # lost since the look began
        rows_of(claim).each(prefix: Timer.prefix_of(shard), batch: ROWS) do |row_key, _|
          time, key = Timer.read(row_key)
          next if @taken.key?(key)
          next expect(shard, @stuck[key].last) if @stuck[key]&.last&.>(now)
          break expect(shard, time) if time > now || @due.size >= LOOK_AHEAD

          @taken[key] = true
          @due << [shard, time, key]
        end
        batch, time = @unsettled[shard]
        return unless batch

        batch > settled ? expect(shard, time) : @unsettled.delete(shard)
      rescue Store::Fenced
        forget(shard)
      rescue StandardError
        expect(shard, now)
        raise
      end

      # Read under the claim, as a state is: on a cluster by the table's name, and only from the database that this process writes to.
      def rows_of(claim) = Index.open(@collection.commits.open_state(claim, ""), @collection.timers_number)

      def fire_due
        while (timer = @due.shift)
          fire(*timer)
          sleep(BREATH_SECONDS) unless @collection.durable?
        end
      ensure
        @running -= 1
        wake_up if @is_crowded
      end

      def fire(shard, time, key)
        COUNTS.fired += 1 if call(key, :__wake__, time)
        @trouble = nil
        @stuck.delete(key)
      rescue Moved, Store::Fenced
        forget(shard)
      rescue Store::Unavailable => e # no fault of the method
        expect(shard, @now + RETRY_MS)
        report_trouble(e)
      rescue EventLoop::Fatal
        raise
      rescue Exception => e # -- `woken` may cause any: SystemStackError, NotImplementedError, `exit`, the Cancelled of another fiber
        raise if over?

        postpone(shard, time, key, e)
      ensure
        @taken.delete(key)
        again = @again.delete(key) and expect(shard, again)
      end

      def call(key, name, time)
        limit = @collection.entity_class.woken_seconds or return @collection.call_here(key, name, time)
        Elah.timeout(limit) { @collection.call_here(key, name, time) }
      end

      # Whether the loop ends, or this is a fork of `woken`, which has none.
      def over?
        event_loop = Elah.current_loop
        event_loop.nil? || !event_loop.ending.nil?
      end

      def postpone(shard, time, key, error)
        COUNTS.failed += 1
        failures, seconds = call(key, :__postpone__, time)
        @stuck.delete(key)
        return unless failures

        report(error, "The timer of #{@collection.name}[#{Text.utf8(key)}] failed, attempt #{failures}; the next follows in #{seconds} s")
      rescue Moved, Store::Fenced
        forget(shard)
      rescue EventLoop::Fatal
        raise
      rescue Overloaded => e # no room for the entity in memory, which thousands of timers meet
        expect(shard, @now + RETRY_MS)
        report_trouble(e)
      rescue Exception => e # -- of `restore`, which may raise what `woken` may
        raise if over?

        attempts = @stuck[key]&.first.to_i + 1
        seconds = Timer.pause_seconds(attempts)
        @stuck[key] = [attempts, @now + (seconds * 1000)]
        expect(shard, @stuck[key].last)
        report(e, "The timer of #{@collection.name}[#{Text.utf8(key)}] failed (#{Text.of_exception(error)}), attempt #{attempts} of this worker; " \
                  "the next follows in #{seconds} s")
      end

      # The shard is read again, if it is still this worker's.
      def forget(shard)
        @claims.delete(shard)
        @next.delete(shard)
        @stuck.delete_if { |key, _| @collection.shard_of(key) == shard }
      end

      def report(error, what)
        Log.current.exception(error, what)
        ErrorReports.report(error, entities: @collection.name)
      end

      # The store accepts nothing at the moment, which would fail every timer.
      def report_trouble(error)
        report(error, "Timers of #{@collection.name} cannot fire") unless error.message == @trouble
        @trouble = error.message
      end

      def seconds_to_next
        earliest = @next.each_value.min or return TICK_SECONDS
        ((earliest - @now) / 1000.0).clamp(BREATH_SECONDS, TICK_SECONDS)
      end

      # Waits until {#wake_up}, or a timer that is due earlier was announced.
      def rest(seconds)
        @pause = wait = @event_loop.new_wait
        @pause_ends = @now + (seconds * 1000)
        @event_loop.start_timer(wait, seconds)
        @event_loop.park(wait)
      ensure
        @pause = nil
        @event_loop.cancel_wait(wait) if wait
      end

      def wake_up
        @event_loop.end_wait(@pause) if @pause
      end

      # The loop of a script does not wait for timers.
      def spawn(&block) = @event_loop.spawn(Task.transient, &block)
    end
  end
end
