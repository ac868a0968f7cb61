# frozen_string_literal: true

require_relative "run"

module Lab
  # One long run at a fixed rate, in short pieces, so that time shows: latency, answers and memory of each piece, and whether memory grows.
  class Soak < Run
    PIECE_SECONDS = 2
    # Memory at the end, over that after a third of the time, from which on the process is said to leak; and the least growth that counts.
    GROWTH_MAX = 1.25
    GROWTH_BYTES_MIN = 8_000_000

    # @param rate [Float] requests per second
    # @param seconds [Integer]
    # @param tools [Hash] as for Run
    def initialize(contender, workload, rate:, seconds:, **tools)
      super(contender, workload, **tools)
      @rate = rate
      @seconds = seconds
    end

    # @return [Hash{Symbol=>Object}]
    def run
      @result = { **heading, soak: true, rate: @rate, pieces: [] }
      serve { |server| attempt("soak") { soak(server) } }
      @result.merge!(self.class.growth(@result[:pieces].map { |piece| piece[:bytes] }))
    end

    # @param bytes [Array<Integer>] memory after each piece
    # @return [Hash{Symbol=>Object}] growth, as a factor, and whether it leaks
    def self.growth(bytes)
      early, late = bytes[bytes.size / 3], bytes.last
      return { growth: nil, leaks: false } unless early && bytes.size >= 3

      { growth: late / early.to_f, leaks: late > early * GROWTH_MAX && late - early > GROWTH_BYTES_MIN }
    end

    private

    def soak(server)
      fill(server)
      load = { rate: @rate, connections: @workload.pace_connections, seconds: PIECE_SECONDS, status: @workload.status, paths_file: paths_file }
      (@seconds / PIECE_SECONDS).times do |index|
        report = @generators.pace(url, **load)
        @result[:pieces] << { second: (index + 1) * PIECE_SECONDS, answered_rate: report["requests_per_second"], failed: report["failed"],
                              latency_us: report["latency_us"], bytes: server.tree.memory[:proportional_bytes] }
        server.require_running
      end
    end
  end
end
