# frozen_string_literal: true

require_relative "history"
require_relative "http_client"
require_relative "patience"

# Clients of a cluster: each calls one server, one call after the other, and goes on after a pause when it was refused.
# A subclass says what they call, by `step`, which returns the result of the call and whether that was a write, and by
# `read_all`.
class ClusterClients
  include Patience

  OK = [200, 201, 204].freeze
  JSON_TYPE = { "Content-Type" => "application/json" }.freeze
  # How long a client waits for a response.
  SECONDS = 40
  # A client that was refused calls again after this time.
  BACK_OFF_SECONDS = 0.02

  # @return [History]
  attr_reader :history

  # Runs clients while the block runs.
  #
  # @param cluster [AppCluster]
  # @param each [Integer] number of clients of each server
  # @yieldparam clients [ClusterClients]
  # @return [ClusterClients]
  def self.run(cluster, each: 2)
    clients = new(cluster, each)
    yield clients
    clients.stop
    clients
  ensure
    clients&.stop
  end

  # @yield before the first call
  def initialize(cluster, each)
    @cluster = cluster
    @count = cluster.servers.size * each
    @returned = Hash.new(0)
    @statuses = Hash.new { |statuses, place| statuses[place] = Hash.new(0) }
    @troubles = Hash.new(0)
    @lock = Mutex.new
    @grown = ConditionVariable.new
    @left = []
    @failures = 0
    yield if block_given?
    @threads = Array.new(@count) { |number| Thread.new { work(number) } }
  end

  # @param place [Integer] of a server in the cluster
  # @return [Hash{Integer, Symbol=>Integer}] how often each status came; `:refused` for a connection that was, and
  #   `:unknown` for no response
  def statuses(place) = @lock.synchronize { @statuses[place].dup }

  # @return [Integer] how many requests were refused, or have failed
  def failures = @lock.synchronize { @failures }

  # Waits until each of these servers has served so many more writes.
  #
  # @param places [Array<Integer>] of the servers in the cluster
  def wait_until_served(number, places: (0...@cluster.servers.size).to_a)
    give_up_at = monotonic + patience_seconds
    @lock.synchronize do
      wanted = places.to_h { |place| [place, @returned[place] + number] }
      while wanted.any? { |place, count| @returned[place] < count }
        raise Minitest::Assertion, "Waited for #{number} writes at #{places}: #{self}" if monotonic > give_up_at

        @grown.wait(@lock, 1)
      end
    end
  end

  # Waits until one more call through a server has failed.
  def wait_until_failed(place)
    before = statuses(place)[503].to_i
    wait_until("a call through #{place} fails") { statuses(place)[503].to_i > before }
  end

  # Waits until each server has served a number of writes during which no call has failed.
  def wait_until_no_call_fails(number)
    wait_until("no call fails") do
      before = failures
      wait_until_served(number)
      failures == before
    end
  end

  # @return [History] that is checked
  def settled = @history

  # @return [String, nil] what is wrong with the history
  def violation = settled.violation

  def to_s = "#{@history}; statuses #{@statuses}; #{@troubles}"
  alias inspect to_s

  # Ends the clients of a server after their calls, as a balancer does before the server ends.
  def leave(place)
    @left << place
    @threads.each_with_index { |thread, number| thread.value if number % @cluster.servers.size == place }
  end

  # Ends the clients after their calls.
  def stop
    @is_over = true
    @threads.each(&:value)
  end

  def patience_seconds = 120

  # Makes something at the first server.
  #
  # @return [String] its id
  def make(path, **fields)
    until_known("#{path} is posted to") { request(0, "POST", path, body: fields) }["id"].to_s
  end

  # Asks until there is a result.
  def until_known(what)
    result = nil
    wait_until(what) { (result = yield).is_a?(Hash) }
    result
  end

  # Sends one request on a connection of its own.
  #
  # @param answers [Hash{String=>Object}] results of problems, by code
  # @return [Hash, Symbol] the JSON of a response; `:unknown`: nobody knows whether it ran; `:refused`: it did not
  def request(place, verb, path, body: nil, headers: {}, answers: {})
    response = send_request(@cluster.servers.fetch(place), verb, path, body && JSON.generate(body), headers)
    result = response.is_a?(Symbol) ? response : result(response, answers)
    @lock.synchronize do
      @statuses[place][response.is_a?(Symbol) ? response : response.status] += 1
      @failures += 1 if result.is_a?(Symbol)
    end
    result
  end

  private

  def work(number)
    random = Random.new(number)
    place = number % @cluster.servers.size
    until @is_over || @left.include?(place)
      result, is_write = step(number, place, random)
      served(place) if is_write && !result.is_a?(Symbol)
      back_off if result.is_a?(Symbol)
    end
  end

  def back_off = IO.select(nil, nil, nil, BACK_OFF_SECONDS)

  def served(place)
    @lock.synchronize do
      @returned[place] += 1
      @grown.broadcast
    end
  end

  def send_request(server, verb, path, body, headers)
    client = HttpClient.new(server.url, seconds: SECONDS)
  rescue SystemCallError, IOError
    :refused
  else
    begin
      client.request(verb, path, body: body, headers: body ? { **JSON_TYPE, **headers } : headers)
    rescue SystemCallError, IOError, HttpClient::Silence, HttpClient::Closed => e
      trouble(e.message)
      :unknown
    ensure
      client.close
    end
  end

  # Whoever owns the object was not found in time, so nobody has run the call.
  def result(response, answers)
    return response.status == 204 ? {} : response.json if OK.include?(response.status)

    code = response.json["code"]
    return answers[code] if answers.key?(code)

    trouble(code)
    code == "entity_moving" ? :refused : :unknown
  end

  def trouble(text) = @lock.synchronize { @troubles[text] += 1 }
end
