# frozen_string_literal: true

module Elah
  class Entity
    # A recurring job of a server, or of all servers of a cluster, which one of the workers runs: the owner of this entity, by its timer. So a job
    # runs at the times that the store has, whenever workers or the server start, and never twice at the same time. Every worker takes part, as it may
    # become the owner.
    #
    # A job that is cut short, because its worker was killed, stops or hands over the job, runs again at once in the next owner. One that raises is
    # reported, and runs again at its next time. Times that have passed while no server ran, or while the job ran, lead to one run.
    #
    # @see Elah.every
    # @see Elah.daily
    class Job < Entity
      entity_name "elah.jobs"
      # The schedule of each job, for workers that start while it runs: a call would wait for its end.
      index :schedules

      # Time after which a worker that does not know a job looks again, and after which such a job is forgotten. A worker with older code may own it
      # for a while.
      UNKNOWN_SECONDS = 10
      FORGET_SECONDS = 86_400
      # Pause between two attempts to reach the owner, at the start of a worker.
      RETRY_SECONDS = 0.5
      # How often a run looks whether this process still owns the job: a process that stood still, or was cut off, may have lost it.
      LOOK_SECONDS = 1
      private_constant :LOOK_SECONDS

      # A worker's part in a job.
      class Participation
        # @param blocks [Hash]
        # @param id [Object]
        def initialize(blocks, id)
          @blocks = blocks
          @id = id
        end

        # This worker no longer runs the job; a run that has begun ends.
        def cancel = @blocks.delete(@id)
      end

      @blocks = {}
      @running = {}
      @ended = {}
      @followed = {}.compare_by_identity

      class << self
        # @return [Hash{Array(String, String)=>Proc}] by the folder of the store and the name of the job
        # @api private
        attr_reader :blocks

        # @return [Hash{Array(String, String)=>Time}] for which time a job has run here last. If that cannot be stored, the run is not repeated
        # @api private
        attr_reader :ended

        # @return [nil] a run has no time limit
        # @api private
        def woken_seconds = nil

        # @param seconds [Numeric] between two calls
        # @return [Float]
        # @raise [ArgumentError] when no timer can be set so far ahead
        # @api private
        def interval(seconds)
          return seconds.to_f if seconds <= Store::TTL_SECONDS_MAX

          raise ArgumentError, "Seconds between two calls of a job must be at most #{Store::TTL_SECONDS_MAX}, not #{seconds}."
        end

        # Takes part in a job, and schedules it unless it is.
        #
        # @param event_loop [Elah::EventLoop]
        # @param name [String]
        # @param schedule [Hash{String=>Object}] `seconds` or `at`
        # @param store [Elah::Store, nil]
        # @return [Participation]
        # @raise [ArgumentError]
        # @api private
        def start(event_loop, name, schedule, store, &block)
          raise ArgumentError, %(once: needs the name of the job, such as "nightly report", not #{name.inspect}.) unless name?(name)
          raise ArgumentError, "The job #{name} needs a block." unless block

          store ||= Store.at(Elah.config.state)
          id = [store.dir, name]
          raise ArgumentError, "The worker takes part in the job #{name} already." if blocks.key?(id)

          blocks[id] = block
          follow(store.placement)
          jobs = self.in(store)
          event_loop.at_end { blocks.delete(id) }
          event_loop.post { event_loop.spawn(Task.service) { plan(jobs, name, schedule) } }
          Participation.new(blocks, id)
        end

        # Runs a job until it ends, or this worker hands it over or has lost it.
        #
        # @api private
        def run(job, placement, shard, block)
          event_loop = Elah.current_loop
          task = Task.transient
          term = placement.term_of(shard) # before the block begins, which may stand still at once
          @running[job] = [placement, shard, async = Async.new(event_loop, parent: event_loop.current_task, task: task, &block)]
          watch = Elah.watch(LOOK_SECONDS) { leave(job) unless placement.term_of(shard) == term }
          async.value
        rescue Cancelled
          raise Moved, "The job #{job.key} has begun, and another worker owns it now." unless @running.key?(job)

          raise
        ensure
          watch&.cancel
          @running.delete(job)
        end

        private

        def leave(job) = @running.delete(job)&.last&.cancel

        def name?(name)
          name.is_a?(String) && (name.ascii_only? || (name.encoding == Encoding::UTF_8 && name.valid_encoding?)) &&
            name.bytesize.between?(1, Collection::KEY_BYTES_MAX)
        end

        # Registered before the collection's own block, which waits for calls that run.
        def follow(placement)
          return if @followed.key?(placement)

          @followed[placement] = true
          placement.before_release do |terms|
            leaving = @running.select { |_, (other, shard)| other.equal?(placement) && terms.key?(shard) }
            leaving.each_key { |job| leave(job) }
          end
        end

        # The owner may be a worker that boots, or one with older code that does not know jobs.
        def plan(jobs, name, schedule)
          jobs.start
          jobs[name].plan(schedule) unless jobs.index(:schedules).get(name) == JSON.generate(schedule)
        rescue Cancelled, Store::Closed
          raise
        rescue StandardError => e
          Log.current.debug("The job #{name} is not scheduled yet: #{e.message}")
          sleep(RETRY_SECONDS)
          retry
        end
      end

      # @api private
      def restore
        @schedule = state.get("schedule")&.then { |text| JSON.parse(text) }
        @due = state.get("due")&.then { |time| Time.at(0, Integer(time), :millisecond) }
      end

      # Schedules the job, unless it has this schedule.
      #
      # @param schedule [Hash{String=>Object}]
      def plan(schedule)
        return if schedule == @schedule

        text = JSON.generate(schedule)
        state.put("schedule", text)
        index(:schedules).put(key, text)
        @schedule = schedule
        @due = nil
        be_due(following(now))
      end

      private

      def woken
        id = [@elah_collection.store.dir, key]
        block = Job.blocks[id] or return await_a_worker_that_knows
        run(block) unless Job.ended[id] == @due
        Job.ended[id] = @due
        be_due(following([now, @due].max))
      end

      def run(block)
        Job.run(self, @elah_collection.store.placement, @elah_collection.shard_of(key), block)
      rescue Moved, EventLoop::Fatal
        raise
      rescue Exception => e # -- a job may raise any: NotImplementedError, SystemStackError, `exit`, the Cancelled of another fiber
        event_loop = Elah.current_loop
        raise if event_loop.nil? || event_loop.ending

        Log.current.exception(e, "The job #{key} failed")
        ErrorReports.report(e, job: key)
      end

      def await_a_worker_that_knows
        return wake_at(now + UNKNOWN_SECONDS) if now - @due < FORGET_SECONDS

        %w[schedule due].each { |name| state.delete(name) }
        index(:schedules).delete(key)
        @schedule = nil
      end

      def be_due(time)
        milliseconds = (time.to_r * 1000).ceil
        state.put("due", milliseconds.to_s)
        wake_at(@due = Time.at(0, milliseconds, :millisecond))
      end

      # @return [Time] the first time of the schedule after `time`
      def following(time)
        return time_of_day_after(time) if @schedule["at"]

        seconds = @schedule["seconds"].rationalize
        from = @due || time
        from + ([((time - from) / seconds).floor, 0].max * seconds) + seconds
      end

      # A day begins at another hour where the clocks change, but has a noon.
      def time_of_day_after(time)
        hour, minute = @schedule["at"].split(":").map(&:to_i)
        noon = Time.new(time.year, time.month, time.day, 12)
        [noon, noon + 86_400].map { |day| Time.new(day.year, day.month, day.day, hour, minute) }.find { |candidate| candidate > time }
      end

      def now = @elah_collection.store.now
    end
  end
end
