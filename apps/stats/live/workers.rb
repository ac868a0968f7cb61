# frozen_string_literal: true

module Stats
  module Live
    # The sums of all workers, on a cluster of those of all machines: each reports its figures once per second and gets those of
    # all. The entity is in memory only; a worker that is silent for {SECONDS} no longer counts.
    class Workers < Elah::Entity
      SECONDS = 6
      TOP = 10

      # Nothing is stored.
      def restore = @figures = {}

      # @param worker [String] a process
      # @param figures [Hash{String=>Object}] `rate`, `per_second`, `paths`, `latency_us`; on a cluster also `machine` and `sink`
      # @param now [Float] seconds of this process's clock
      # @return [Hash{String=>Object}] the same of all workers together, their number as `workers`, and on a cluster `queued_elsewhere`: events
      #   that wait in the journals of other machines
      def exchange(worker, figures, now = Process.clock_gettime(Process::CLOCK_MONOTONIC))
        @figures.delete(worker) # so that the latest one is the last
        @figures[worker] = [now, figures]
        @figures.delete_if { |_, (reported_at, _)| now - reported_at > SECONDS }
        all = Workers.sum(@figures.values.map(&:last))
        return all unless figures["machine"]

        { **all, "sink" => Workers.add_sink_reports(sink_reports.values),
                 "queued_elsewhere" => sink_reports.except(figures["machine"]).each_value.sum { |report| report["total"]["queued"] } }
      end

      # @param all [Array<Hash{String=>Object}>] of each worker
      # @return [Hash{String=>Object}]
      def self.sum(all)
        { "workers" => all.size, "rate" => all.sum { |figures| figures["rate"] }.round(1),
          "per_second" => all.map { |figures| figures["per_second"] }.transpose.map(&:sum),
          "paths" => add(all, "paths").max_by(TOP) { |_, count| count }.to_h, "latency_us" => add(all, "latency_us") }
      end

      # @param reports [Array<Hash{String=>Object}>] the sink report of each machine, see {Ticker}
      # @return [Hash{String=>Object}, nil] of all together, with the destination of one that fails
      def self.add_sink_reports(reports)
        return if reports.empty?

        { "holds" => reports.all? { |report| report["holds"] }, "total" => add(reports, "total"),
          "destination" => reports.map { |report| report["destination"] }.min_by { |state| state["ok"] ? 1 : 0 },
          **%w[journal_bytes journal_bytes_max].to_h { |name| [name, reports.sum { |report| report[name] }] } }
      end

      def self.add(all, name) = all.map { |figures| figures[name] }.reduce { |one, other| one.merge(other) { |_, a, b| a + b } }
      private_class_method :add

      private

      # The latest sink report of each machine.
      def sink_reports = @figures.values.to_h { |_, figures| figures.values_at("machine", "sink") }.compact
    end
  end
end
