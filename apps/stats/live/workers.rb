# frozen_string_literal: true

module Stats
  module Live
    # The sums of a server's workers: each reports its figures once per second and gets those of all. The entity is in memory
    # only; a worker that is silent for {SECONDS} no longer counts.
    class Workers < Elah::Entity
      SECONDS = 4
      TOP = 10

      # Nothing is stored.
      def restore = @told = {}

      # @param worker [Integer] the number of a process
      # @param now [Float] seconds of the clock that all processes of the machine share
      # @param figures [Hash{String=>Object}] `rate`, `per_second`, `paths`, `latency_us`
      # @return [Hash{String=>Object}] the same of all workers together, and their number as `workers`
      def exchange(worker, now, figures)
        @told[worker] = [now, figures]
        @told.delete_if { |_, (told_at, _)| now - told_at > SECONDS }
        Workers.sum(@told.values.map(&:last))
      end

      # @param all [Array<Hash{String=>Object}>] of each worker
      # @return [Hash{String=>Object}]
      def self.sum(all)
        { "workers" => all.size, "rate" => all.sum { |figures| figures["rate"] }.round(1),
          "per_second" => all.map { |figures| figures["per_second"] }.transpose.map(&:sum),
          "paths" => add(all, "paths").max_by(TOP) { |_, count| count }.to_h, "latency_us" => add(all, "latency_us") }
      end

      def self.add(all, name) = all.map { |figures| figures[name] }.reduce { |one, other| one.merge(other) { |_, a, b| a + b } }
      private_class_method :add
    end
  end
end
