# frozen_string_literal: true

require "securerandom"
require_relative "workers"

module Stats
  module Live
    # The tick of the live page in one process: once per second it makes one event with the sums of all workers, for all viewers. On
    # a cluster each machine also reports the counts of its sink.
    class Ticker
      SECONDS = 1
      # The counts of the sink are read from the disk, so only on every REPORT_TICKS-th tick and, on one machine, only while there are viewers.
      REPORT_TICKS = 2
      ENTITY = "all"
      # How long to wait for the other workers, before this one shows its own figures only.
      EXCHANGE_SECONDS = 2

      # @return [Elah::Broadcast]
      attr_reader :broadcast

      # @return [Integer] events that wait in the journals of other machines, as of the last tick
      attr_reader :queued_elsewhere

      # @param service [Service]
      # @param machine [String, nil] the name of this machine in a cluster
      def initialize(service, machine: nil)
        @service = service
        @machine = machine
        @workers = Workers.in(service.store)
        @broadcast = Elah::Broadcast.new(keeps_last: true)
        @ticks = @queued_elsewhere = 0
        @sink_report = nil
        @process_id = @worker = nil
        @is_alone = false
      end

      # Starts the tick, once in each process: in its loop or, under a server without one, in a thread, which shows this process
      # only.
      #
      # @return [void]
      def start
        return if @process_id == Process.pid

        @process_id = Process.pid
        @worker = SecureRandom.hex(8)
        Elah.every(SECONDS, detached: true) { tick }
      rescue Elah::OutsideLoop
        @is_alone = true
        Thread.new { Elah.run { Elah.every(SECONDS) { tick }.wait } }
      end

      # @return [void]
      def tick
        @ticks += 1
        refresh_sink_report
        figures = of_all_workers
        @queued_elsewhere = figures.delete("queued_elsewhere") || @queued_elsewhere
        @broadcast.push({ **figures, "sink" => figures["sink"] || @sink_report }, event: "tick", id: @ticks)
      end

      private

      # The first viewer gets no report rather than an outdated one.
      def refresh_sink_report
        return @sink_report = nil unless @machine || @is_alone || @broadcast.listeners.positive?

        read_sink_report if @sink_report.nil? || (@ticks % REPORT_TICKS).zero?
      end

      # While the others cannot be reached, it shows this worker only.
      def of_all_workers
        own = @service.live_counters.snapshot.except("total")
        own.update("machine" => @machine, "sink" => @sink_report) if @machine
        return Workers.sum([own]) if @is_alone

        Elah.timeout(EXCHANGE_SECONDS) { @workers[ENTITY].exchange(@worker, own) }
      rescue Elah::Error
        Workers.sum([own])
      end

      def read_sink_report
        report = @service.sink.report(minutes: 0)
        @sink_report = report.slice("holds", "total", "destination", "journal_bytes", "journal_bytes_max")
      rescue Elah::Error => e
        Elah.current_loop&.report(e)
      end
    end
  end
end
