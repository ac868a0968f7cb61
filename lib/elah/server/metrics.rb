# frozen_string_literal: true

require_relative "status"

module Elah
  # The scoreboard in the text format of Prometheus. Any worker reports for all workers. A Rack app to mount:
  #
  #   mount Elah::Metrics => "/metrics"
  module Metrics
    CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

    # Name, type, help text, and the value of one worker.
    PER_WORKER = [
      ["elah_connections", "gauge", "Open connections.", ->(worker) { worker[:connections] }],
      ["elah_requests_open", "gauge", "Requests that run or wait.", ->(worker) { worker[:open_requests] }],
      ["elah_requests_waiting", "gauge", "Requests that wait for a fiber or at a gate.", ->(worker) { worker[:waiting_requests] }],
      ["elah_fibers", "gauge", "Requests that run.", ->(worker) { worker[:fibers] }],
      ["elah_loop_lag_seconds", "gauge", "Recent delay of the loop.", ->(worker) { worker[:lag_ms] / 1000.0 }],
      ["elah_loop_lag_max_seconds", "gauge", "Maximum delay of the loop.", ->(worker) { worker[:lag_ms_max] / 1000.0 }],
      ["elah_silent_seconds", "gauge", "How long the loop has stood still; 0 while it runs.", ->(worker) { worker[:silent_seconds] }],
      ["elah_resident_bytes", "gauge", "Memory of the process, including shared pages.", ->(worker) { worker[:rss_bytes] }],
      ["elah_anonymous_bytes", "gauge", "Memory of the process without pages of files.", ->(worker) { worker[:anonymous_bytes] }],
      ["elah_shards", "gauge", "Shards of entities that the worker owns.", ->(worker) { worker[:shards] }],
      ["elah_shards_claimed", "gauge", "Shards of all stores under which the worker may write.", ->(worker) { worker[:shards_claimed] }],
      ["elah_entities", "gauge", "Entities in memory.", ->(worker) { worker[:entities] }],
      ["elah_calls_received", "gauge", "Calls of other workers that run or wait for it.", ->(worker) { worker[:calls_received] }],
      ["elah_calls_sent", "gauge", "Calls to other workers without a reply.", ->(worker) { worker[:calls_sent] }]
    ].freeze

    # Name, type, help text, and the value of one worker about another one.
    PER_PEER = [
      ["elah_peer_allowance", "gauge", "Calls that may be in flight to the other worker at once.", ->(peer) { peer[:allowance] || "+Inf" }],
      ["elah_peer_calls", "gauge", "Calls to the other worker without a reply.", ->(peer) { peer[:calls] }],
      ["elah_peer_late_calls_total", "counter", "Calls without a reply of the other worker in time.", ->(peer) { peer[:late_calls] }],
      ["elah_peer_limited_calls_total", "counter", "Calls that were not sent because the other worker was late.", ->(peer) { peer[:limited_calls] }]
    ].freeze

    # Name and help text of the sums.
    TOTALS = {
      iterations: ["elah_loop_iterations_total", "Iterations of the loops."],
      connections_accepted: ["elah_connections_accepted_total", "Connections accepted."],
      requests: ["elah_requests_total", "Requests that reached the app."],
      refused: ["elah_requests_refused_total", "Requests that the server refused by itself."]
    }.freeze

    class << self
      # @param _env [Hash{String=>Object}] of Rack
      # @return [Array(Integer, Hash{String=>String}, Array<String>)] the Rack response
      def call(_env)
        return [503, { "content-type" => "text/plain" }, ["This server has no scoreboard: see its log.\n"]] unless Scoreboard.current

        [200, { "content-type" => CONTENT_TYPE }, [text(Scoreboard.current)]]
      end

      # @param scoreboard [Elah::Scoreboard]
      # @return [String]
      # @api private
      def text(scoreboard)
        status = Status.new(scoreboard)
        workers = status.workers
        [*totals(status), *family("elah_workers", "gauge", "Worker processes.", [["", workers.size]]), *replaced(status),
         *per_worker(workers), *per_peer(workers), *of_app(workers)].join
      end

      private

      def totals(status)
        status.totals.flat_map { |cell, value| family(TOTALS[cell].first, "counter", TOTALS[cell].last, [["", value]]) }
      end

      def replaced(status)
        samples = status.replaced.flat_map { |slot, counts| counts.map { |reason, count| [%({worker="#{slot}",reason="#{reason}"}), count] } }
        family("elah_workers_replaced_total", "counter", "Workers that were replaced.", samples)
      end

      def per_worker(workers)
        PER_WORKER.flat_map do |name, type, help, value|
          family(name, type, help, workers.map { |worker| [labels(worker), value.call(worker)] })
        end
      end

      def per_peer(workers)
        PER_PEER.flat_map do |name, type, help, value|
          samples = workers.flat_map { |worker| worker[:peers].map { |peer| [labels(worker, peer), value.call(peer)] } }
          family(name, type, help, samples)
        end
      end

      # Numbers that the app publishes with Placement#publish.
      def of_app(workers)
        names = workers.flat_map { |worker| worker[:app].keys }.uniq.sort
        names.flat_map do |name|
          shown = workers.select { |worker| worker[:app].key?(name) }
          samples = shown.map { |worker| [labels(worker), worker[:app][name]] }
          family("elah_app_#{name}", "gauge", "Published by the app.", samples)
        end
      end

      # During a replacement a slot has two processes.
      def labels(worker, peer = nil)
        %({worker="#{worker[:slot]}",pid="#{worker[:pid]}"#{%(,peer="#{peer[:slot]}") if peer}})
      end

      def family(name, type, help, samples)
        ["# HELP #{name} #{help}\n# TYPE #{name} #{type}\n", *samples.map { |labels, value| "#{name}#{labels} #{value}\n" }]
      end
    end
  end
end
