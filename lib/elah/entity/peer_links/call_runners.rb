# frozen_string_literal: true

require_relative "incoming_call"

module Elah
  class PeerLinks
    # The fibers that run calls of other workers. One of them runs all calls of an iteration while none waits. When one waits, another fiber runs
    # the rest.
    class CallRunners
      # Maximum number of idle fibers.
      IDLE_MAX = 256

      # A task that runs calls of other workers.
      class Member < Task
        # @return [IncomingCall, nil]
        attr_accessor :call

        def initialize
          super(is_service: true)
          @call = nil
        end
      end

      # @param handler [#call] receives each message and returns its reply
      # @param bounds [Hash{Symbol=>Integer}]
      # @param log [Elah::Log, nil]
      def initialize(event_loop, links, handler, bounds, log)
        @loop = event_loop
        @links = links
        @handler = handler
        @reply_bytes_max = bounds.fetch(:link_payload_bytes_max)
        @log = log
        @members = []
        @idle = []
        @unsent = []
        @call = nil
        @is_working = @is_flush_due = false
        @report = event_loop.method(:report).to_proc
        @fiber_state = EventLoop::FiberState.new(Thread.current)
      end

      # Wakes the loop when there are calls to run.
      def expect
        wait = @loop.new_wait
        @loop.after_wait(wait) { work }
        @links.expect(wait)
      end

      private

      # Runs in the loop itself.
      def work
        cancel_abandoned
        complain
        @is_working = true
        run_next while call_ready?
        flush
      ensure
        @is_working = false
        expect unless @links.closed?
      end

      def run_next
        member = @idle.pop
        return @loop.enter(member) if member

        member = new_member
        @loop.start(member)
      rescue Overloaded => e # there is no fiber for the call
        @members.delete(member)
        fail_call(Failure.of(e))
      end

      def fail_call(failure)
        while @call&.more?
          index = @call.next_index
          @call.take
          flush_later(@call) if @call.reply(index, failure)
        end
      end

      def call_ready?
        return true if @call&.more?

        @call = next_call
      end

      def next_call
        while (key, payload, count, seconds = @links.next_incoming)
          begin
            return IncomingCall.new(@links, key, payload, count, Concurrency.now + seconds, @reply_bytes_max)
          rescue StandardError => e
            refuse(key, count, e)
          end
        end
      end

      # The message cannot be read, for example because this worker does not know the class of an object.
      def refuse(key, count, error)
        failure = Wire.dump(Failure.of(error))
        @links.reply(key, count, count == 1 ? failure : Wire.dump((0...count).flat_map { |index| [index, [failure]] }))
      end

      def new_member
        member = Member.new
        @fiber_state.watch(member)
        member.suspended = Fiber.new(**EventLoop::FiberState::OPTIONS) do
          while true
            serve(member)
            break @members.delete(member) if @idle.size >= IDLE_MAX

            @idle << member
            @loop.park_idle(member)
          end
        end
        @members << member
        member
      end

      def serve(member)
        run(member, @call) while call_ready?
        member.call = member.deadline = nil
      end

      def run(member, call)
        index = call.next_index
        message = call.take
        member.call = call
        member.deadline = call.due
        begin
          reply = @handler.call(message)
        rescue Exception => e # -- the caller's affair, and the worker's if it is fatal
          @loop.end_fork(e)
          @loop.report(e) unless e.is_a?(StandardError) || e.is_a?(ScriptError)
          reply = Failure.of(e)
        end
        @loop.end_fork
        member.finish(&@report)
        @fiber_state.clear(member) if member.fiber_state
        flush_later(call) if call.reply(index, reply)
      end

      # Replies of one call that are ready in the same iteration are sent together.
      def flush_later(call)
        @unsent << call
        return if @is_working || @is_flush_due

        @is_flush_due = true
        @loop.post { flush }
      end

      def flush
        @is_flush_due = false
        @unsent.each(&:flush)
        @unsent.clear
      end

      def cancel_abandoned
        keys = @links.take_cancelled
        return if keys.empty?

        abandoned = keys.to_h { |key| [key, true] }
        @call.abandon if @call && abandoned[@call.key]
        @members.select { |member| member.call && abandoned[member.call.key] }.each do |member|
          member.overdue
          @loop.cancel(member, unawaited)
        end
      end

      def unawaited = Cancelled.new("The worker that called no longer waits for the result.")

      def complain
        while (complaint = @links.next_complaint)
          @log&.warn(complaint)
        end
      end
    end
  end
end
