# frozen_string_literal: true

require_relative "history"
require_relative "patience"

# Clients of a cluster's bank: each calls one server, one call after the other, and goes on after a pause when it gets a
# 503.
class BankClients
  include Patience

  KEYS = Array.new(16) { |number| "account#{number}" }.freeze
  OK = [200, 201].freeze
  # How long a client waits for a response.
  SECONDS = 40
  # The share of reads.
  READS = 0.3
  # A client that was refused calls again after this time.
  BACK_OFF_SECONDS = 0.02

  # @return [History]
  attr_reader :history

  # Runs clients while the block runs.
  #
  # @param cluster [BankCluster]
  # @param each [Integer] number of clients of each server
  # @yieldparam clients [BankClients]
  # @return [BankClients]
  def self.run(cluster, each: 2)
    clients = new(cluster, each)
    yield clients
    clients.stop
    clients
  ensure
    clients&.stop
  end

  def initialize(cluster, each)
    @cluster = cluster
    @history = History.new
    @count = cluster.servers.size * each
    @returned = Hash.new(0)
    @statuses = Hash.new { |statuses, place| statuses[place] = Hash.new(0) }
    @troubles = Hash.new(0)
    @lock = Mutex.new
    @grown = ConditionVariable.new
    @threads = Array.new(@count) { |number| Thread.new { work(number) } }
  end

  # @param place [Integer] of a server in the cluster
  # @return [Hash{Integer, Symbol=>Integer}] how often each status came; `:refused` for a connection that was, and
  #   `:unknown` for no response
  def statuses(place) = @lock.synchronize { @statuses[place].dup }

  # Waits until each of these servers has returned so many more deposits.
  #
  # @param places [Array<Integer>] of the servers in the cluster
  def wait_until_served(number, places: (0...@cluster.servers.size).to_a)
    give_up_at = monotonic + patience_seconds
    @lock.synchronize do
      wanted = places.to_h { |place| [place, @returned[place] + number] }
      while wanted.any? { |place, count| @returned[place] < count }
        raise Minitest::Assertion, "Waited for #{number} deposits at #{places}: #{self}" if monotonic > give_up_at

        @grown.wait(@lock, 1)
      end
    end
  end

  # Waits until one more call through a server has failed.
  def wait_until_failed(place)
    before = statuses(place)[503].to_i
    wait_until("a call through #{place} fails") { statuses(place)[503].to_i > before }
  end

  # Waits until each server has served a number of deposits during which no call has failed.
  def wait_until_no_call_fails(number)
    wait_until("no call fails") do
      before = failures
      wait_until_served(number)
      failures == before
    end
  end

  def to_s = "#{@history}; statuses #{@statuses}; #{@troubles}"

  # Ends the clients after their calls.
  def stop
    @is_over = true
    @threads.each(&:value)
  end

  # Reads all accounts at all servers, as a part of the history.
  #
  # @return [Hash{String=>Integer}]
  def read_all
    @cluster.servers.each_index.map { |place| KEYS.to_h { |key| [key, read_until_known(place, key)] } }.last
  end

  def patience_seconds = 120

  private

  def work(number)
    random = Random.new(number)
    until @is_over
      place = number % @cluster.servers.size
      amount = random.rand < READS ? nil : @history.new_amount
      result = call(number, place, KEYS.sample(random: random), amount)
      served(place) if amount && result.is_a?(Hash)
      IO.select(nil, nil, nil, BACK_OFF_SECONDS) unless result.is_a?(Hash)
    end
  end

  def failures
    @lock.synchronize { @statuses.each_value.sum { |counts| counts.except(*OK).values.sum } }
  end

  def served(place)
    @lock.synchronize do
      @returned[place] += 1
      @grown.broadcast
    end
  end

  def read_until_known(place, key)
    result = nil
    wait_until("server #{place} returns #{key}") { (result = call(@count + place, place, key, nil)).is_a?(Hash) }
    result["balance"]
  end

  def call(client, place, key, amount)
    server = @cluster.servers.fetch(place)
    @history.record(client, key, amount) do
      response = send_request(server, key, amount)
      @lock.synchronize { @statuses[place][response.respond_to?(:status) ? response.status : response] += 1 }
      response.respond_to?(:status) ? result(response) : response
    end
  end

  def send_request(server, key, amount)
    client = HttpClient.new(server.url, seconds: SECONDS)
  rescue SystemCallError, IOError
    :refused
  else
    begin
      amount ? client.request("POST", "/#{key}/#{amount}") : client.get("/#{key}")
    rescue SystemCallError, IOError, HttpClient::Silence, HttpClient::Closed => e
      trouble(e.message)
      :unknown
    ensure
      client.close
    end
  end

  # Whoever owns the account was not found in time, so nobody has run the call.
  def result(response)
    return response.json if OK.include?(response.status)

    code = response.json["code"]
    trouble(code)
    code == "entity_moving" ? :refused : :unknown
  end

  def trouble(text) = @lock.synchronize { @troubles[text] += 1 }
end
