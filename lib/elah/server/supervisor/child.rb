# frozen_string_literal: true

require_relative "control"
require_relative "stopwatch"

module Elah
  class Supervisor
    # A worker process as the supervisor knows it.
    class Child
      attr_reader :pid, :slot, :row, :generation, :control, :ready_at, :status

      # @return [Symbol, nil] why the supervisor killed it: a counter of the slot on the scoreboard
      attr_accessor :killed_for

      # @param pid [Integer]
      # @param slot [Integer]
      # @param row [Integer]
      # @param generation [Integer]
      # @param control [Control] the supervisor's end of the connection
      # @param now [Float] seconds of the monotonic clock
      # @param releases [Integer] how often it was asked to hand over shards
      def initialize(pid:, slot:, row:, generation:, control:, now:, releases: 0)
        @pid = pid
        @slot = slot
        @row = row
        @generation = generation
        @control = control
        @boot, @silence, @unserved = Array.new(3) { Stopwatch.new(now) }
        @releases = releases
      end

      # @param values [Hash{String=>Object}] from {#to_h} in the previous image of the supervisor
      # @param now [Float] seconds of the monotonic clock
      # @return [Child]
      def self.adopted(values, now)
        control = Control.new(UNIXSocket.for_fd(values["control"]).tap { |io| io.close_on_exec = true })
        child = new(pid: values["pid"], slot: values["slot"], row: values["row"], generation: values["generation"], releases: values["releases"],
                    control: control, now: now)
        child.ready(now) if values["ready"]
        child
      end

      # @return [Hash{String=>Object}] its state for the next image of the supervisor
      def to_h
        { "pid" => @pid, "slot" => @slot, "row" => @row, "generation" => @generation, "control" => @control.io.fileno, "ready" => ready?,
          "releases" => @releases }
      end

      # Records that it serves.
      #
      # @param now [Float]
      def ready(now) = @ready_at ||= now

      # @return [Boolean]
      def ready? = !@ready_at.nil?

      # Records that it has handed over shards.
      #
      # @param number [Integer] of the `release` that it confirms: an earlier one may have taken longer than the supervisor has waited
      def released(number) = @released = number

      # @return [Boolean] whether it has confirmed the last `release`
      def released? = @released == @releases

      # Asks it to hand over shards.
      #
      # @param shards [Array<Integer>]
      def release(shards)
        @control.say("release", @releases += 1, shards.join(","))
      end

      # Records that it has nothing left to serve.
      def drained = @drained = true

      # @return [Boolean]
      def drained? = @drained == true

      # Records that the process has exited.
      #
      # @param status [Process::Status, nil]
      def gone(status)
        @status = status
        @gone = true
        @control.close
      end

      # @return [Boolean]
      def gone? = @gone == true

      # @return [String] how it exited
      def ending = @status ? @status.to_s.sub(/\Apid \d+ /, "") : "its process no longer exists"

      # Marks it as being replaced.
      def leave = @leaving = true

      # Cancels its replacement.
      def stay = @leaving = false

      # @return [Boolean] whether it is being replaced
      def leaving? = @leaving == true

      # Records that it has closed its connection.
      def mark_disconnected = @disconnected = true

      # @return [Boolean]
      def disconnected? = @disconnected == true

      # @param now [Float]
      # @return [Float] seconds since it was started
      def boot_seconds(now) = @boot.seconds(now)

      # @param heartbeat [Integer]
      # @param now [Float]
      # @return [Float] seconds for which its heartbeat has not changed
      def silent_seconds(heartbeat, now) = @silence.seconds(now, heartbeat)

      # @param since [Integer] when requests began to wait and none was started; 0 when none waits
      # @param now [Float]
      # @return [Float] seconds since then
      def unserved_seconds(since, now)
        seconds = @unserved.seconds(now, since)
        since.zero? ? 0.0 : seconds
      end

      # Sends a signal, if it still runs.
      #
      # @param signal [Symbol]
      def kill(signal)
        Process.kill(signal, @pid) unless gone?
      rescue Errno::ESRCH
        nil
      end

      # @return [String] for the log
      def to_s = "Worker #{@slot} (process #{@pid})"
    end
  end
end
