# frozen_string_literal: true

require "elah/server/status"
require "tmpdir"
require "support/elah_server"
require "support/patience"

# Owns what tests of several workers share: a server with two, what its scoreboard says, and clients that count what
# fails.
module SupervisedCase
  include Patience

  APP = File.expand_path("apps/workers.rb", __dir__)

  # A request that takes so many milliseconds.
  REQUEST = "GET /sleep/%d HTTP/1.1\r\nHost: test.example\r\n\r\n"

  # Requests that were sent one after the other while something went on: how many were answered, and what happened to
  # the others.
  Traffic = Struct.new(:answered, :failures)

  # A server with two workers, which is stopped after the block.
  def supervised(app = APP, workers: 2, **options, &block) = ElahServer.start(app, workers: workers, **options, &block)

  # A server with two workers and a config file, which is stopped after the block.
  #
  # @param text [String] of the config file, which may look for the file `broken` beside it
  # @yieldparam server [ElahServer]
  # @yieldparam broken [String] path of that file
  def supervised_with_config(text, app = APP, **options)
    Dir.mktmpdir do |folder|
      config = File.join(folder, "config.rb")
      File.write(config, "BROKEN = File.join(__dir__, 'broken')\n#{text}")
      supervised(app, config: config, **options) { |server| yield server, File.join(folder, "broken") }
    end
  end

  # @return [Elah::RunDir]
  def run_dir(server) = Elah::RunDir.new(File.join(server.folder, "run", server.pid.to_s))

  # @return [Elah::Status] as it is now
  def status(server) = Elah::Status.new(Elah::Scoreboard.open(run_dir(server).scoreboard_path))

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

  # Sends requests until the block is done: half of the clients on a new connection each time, the others on one for as
  # long as the server keeps it.
  #
  # @return [Traffic]
  def traffic(server, clients: 4, target: "/sleep/5")
    ended = false
    threads = Array.new(clients) do |number|
      Thread.new do
        counts = Traffic.new(0, [])
        send_requests(server, target, counts, keeps: number.even?) until ended
        counts
      end
    end
    yield
    ended = true
    threads.map(&:value).reduce(Traffic.new(0, [])) do |sum, one|
      Traffic.new(sum.answered + one.answered, sum.failures + one.failures)
    end
  ensure
    ended = true
    threads&.each(&:join)
  end

  private

  # One connection's requests: one, or all until an answer says that it is the last.
  def send_requests(server, target, counts, keeps:)
    server.connect do |client|
      answer = nil
      100.times do
        answer = client.get(target)
        answer.status == 200 ? counts.answered += 1 : counts.failures << answer.status
        break if !keeps || answer["connection"] == "close"
      end
    end
  rescue SystemCallError, HttpClient::Closed, HttpClient::Silence => e
    counts.failures << e
  end
end
