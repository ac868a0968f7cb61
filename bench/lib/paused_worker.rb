# frozen_string_literal: true

require "net/http"

module Bench
  # Owns a run of bulk requests while one of two workers is paused (SIGSTOP) and after it goes on. Connections that the paused worker had
  # accepted wait for it and are left alone; what is measured are the others.
  class PausedWorker
    CONNECTIONS = 12
    # Between an answer and the next request of its connection.
    PAUSE_SECONDS = 0.033
    # A connection that has no answer for so long is with the paused worker.
    PAUSED_SECONDS = 1
    # Reasons of overflows that say that another worker did not answer.
    AWAY = /deadline|limited|unavailable/
    PATH = "/api/2013-07-01/bulk.json"

    # at: when it was answered, in seconds of the monotonic clock · seconds: what it took · is_whole: whether all pools answered
    Answer = Struct.new(:at, :seconds, :is_whole)

    # @param server [Server] with two workers, which runs
    # @param bodies [Array<String>] of requests
    # @param seconds [Integer] of each of the three parts: before, meanwhile and after
    def initialize(server, bodies, seconds)
      @server = server
      @bodies = bodies
      @seconds = seconds
      @answers = Queue.new
    end

    # @return [Hash{Symbol=>Float}] normal, paused and resumed: p99 in milliseconds before, while the worker is paused, and from one second
    #   after it goes on; whole_after: seconds from SIGCONT until all pools answered again; asked: how many requests were answered meanwhile
    def run
      worker = @server.tree.pids.drop(1).last
      clients = Array.new(CONNECTIONS) { |index| Thread.new { ask(Random.new(index)) } }
      sleep 1 # to warm up
      normal = during { sleep @seconds }
      Process.kill(:STOP, worker)
      sleep PAUSED_SECONDS # until the connections of the paused worker are known
      paused = during { sleep @seconds }
      Process.kill(:CONT, worker)
      resumed_at = now
      resumed = during { sleep 1 + @seconds }
      whole_after = resumed.reject(&:is_whole).map(&:at).max || resumed_at
      resumed.select! { |answer| answer.at - answer.seconds > resumed_at + 1 }
      raise "no connection was with the worker that went on" if paused.empty?

      { normal: p99(normal), paused: p99(paused), resumed: p99(resumed), whole_after: whole_after - resumed_at, asked: paused.size }
    ensure
      Process.kill(:CONT, worker) if worker
      clients&.each(&:kill)
    end

    private

    def ask(random)
      Net::HTTP.start("127.0.0.1", @server.port, read_timeout: PAUSED_SECONDS, max_retries: 0) do |http|
        while true
          started_at = now
          answer = http.post(PATH, @bodies.sample(random: random), "content-type" => "application/json")
          raise "a bulk request was answered #{answer.code}" unless answer.code == "200"

          @answers << Answer.new(now, now - started_at, !AWAY.match?(answer["overflow-reasons"].to_s))
          sleep PAUSE_SECONDS
        end
      end
    rescue Net::ReadTimeout
      nil # the paused worker's
    end

    def during
      @answers.clear
      yield
      Array.new(@answers.size) { @answers.pop }
    end

    def p99(answers) = answers.map(&:seconds).sort[(answers.size * 0.99).ceil - 1] * 1000

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
