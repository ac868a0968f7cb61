# frozen_string_literal: true

require "elah/status"
require "support/elah_server"
require "support/patience"

# Owns what tests of several workers share: a server with two, what its board says, and clients that count what fails.
module SupervisedCase
  include Patience

  APP = File.expand_path("apps/workers.rb", __dir__)

  # Requests that were sent one after the other while something went on: how many were answered, and what happened to the others.
  Traffic = Struct.new(:answered, :failures)

  def patience_seconds = 30

  # A server with two workers, which is stopped after the block.
  def supervised(app = APP, workers: 2, **options, &block) = ElahServer.start(app, workers: workers, **options, &block)

  # @return [Elah::RunDir]
  def run_dir(server) = Elah::RunDir.new(File.join(server.folder, "run", server.pid.to_s))

  # @return [Elah::Status] as it is now
  def status(server) = Elah::Status.new(Elah::Board.open(run_dir(server).board_path))

  # @return [Array<Hash>] the workers that serve
  def workers(server) = status(server).workers.select { |worker| worker[:state] == :ready }

  # @return [Array<Integer>] the process ids of the workers that serve, by their slots
  def worker_pids(server) = workers(server).map { |worker| worker[:pid] }

  # Waits until `count` workers serve, none of them one of those given.
  def wait_for_workers(server, count, besides: [])
    wait_until("#{count} other workers serve:\n#{server.log}") do
      pids = status(server).workers.map { |worker| worker[:pid] }
      pids.size == count && (pids & besides).empty? && worker_pids(server).size == count
    end
  end

  # Sends requests on `clients` connections at a time, each on a new one, until the block is done.
  #
  # @return [Traffic]
  def traffic(server, clients: 4, target: "/sleep/5")
    ended = false
    threads = Array.new(clients) do
      Thread.new do
        counts = Traffic.new(0, [])
        until ended
          begin
            answer = server.get(target)
            answer.status == 200 ? counts.answered += 1 : counts.failures << answer.status
          rescue SystemCallError, HttpClient::Closed, HttpClient::Silence => e
            counts.failures << e
          end
        end
        counts
      end
    end
    yield
    ended = true
    threads.map(&:value).reduce(Traffic.new(0, [])) { |sum, one| Traffic.new(sum.answered + one.answered, sum.failures + one.failures) }
  ensure
    ended = true
    threads&.each(&:join)
  end
end
