# frozen_string_literal: true

module Lab
  # One long run at a fixed rate, in short pieces, so that time shows: latency, answers and memory of each piece, and whether memory grows.
  class Soak
    PIECE_SECONDS = 2
    # Memory at the end, over that after a third of the time, from which on the process is said to leak; and the least growth that counts.
    GROWTH_MAX = 1.25
    GROWTH_BYTES_MIN = 8_000_000

    # @param contender [Contender]
    # @param workload [Workload]
    # @param rate [Float] requests per second
    # @param seconds [Integer]
    def initialize(contender, workload, rate:, seconds:, cores:, generators:, store: nil)
      @workload = workload
      @contender = contender
      @rate = rate
      @seconds = seconds
      @server = ServerProcess.new(contender, workload, cores: cores, store: store)
      @generators = generators
    end

    # @return [Hash{Symbol=>Object}]
    def run
      @result = { workload: @workload.name, contender: @contender.name, soak: true, at: Time.now.utc.iso8601, rate: @rate, pieces: [] }
      @server.run { |server| soak(server) }
      @result.merge!(self.class.growth(@result[:pieces].map { |piece| piece[:bytes] }))
    rescue Error, SystemCallError, Timeout::Error, EOFError => e
      @result.merge!(failure: { step: "soak", message: e.message })
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
      @workload.data&.load(server)
      (@seconds / PIECE_SECONDS).times do |index|
        report = @generators.pace(server.url(@workload.path || "/"), rate: @rate, connections: @workload.pace_connections, seconds: PIECE_SECONDS,
                                                                     status: @workload.status, paths_file: @workload.data&.paths_file)
        @result[:pieces] << { second: (index + 1) * PIECE_SECONDS, answered_rate: report["requests_per_second"], failed: report["failed"],
                              latency_us: report["latency_us"], bytes: server.tree.memory[:proportional_bytes] }
        server.require_running
      end
    end
  end
end
