# frozen_string_literal: true

require "time"
require_relative "cluster_clients"

# Clients of apps/ring_pools on a cluster, which take numbers, ask for them and release them. The holds of most pools
# outlast the test, and their history is checked as that of an object; those of the others end by themselves, and the
# times that the servers return are compared.
class PoolClients < ClusterClients
  APP = File.expand_path("../../apps/ring_pools/app.rb", __dir__)
  SETTINGS = { ring_pools_deadline_ms: 20_000 }.freeze
  OVERFLOW = "+18005550199"
  LONG_POOLS = 6
  SHORT_POOLS = 3
  NUMBERS_OF_A_POOL = 3
  HOLD_SECONDS = { long: 86_400, short: 0.5 }.freeze
  # What is returned for a lease that is over.
  NO_LEASE = { is_over: true }.freeze

  # A lease of a pool whose holds are short.
  Hold = Struct.new(:number, :lease, :begun_at, :held_until)

  # What a client has of a pool: its leases, and the session of a call of unknown fate.
  Own = Struct.new(:leases, :session)

  # @return [Array<Hold>] of the pools whose holds are short
  attr_reader :holds

  def initialize(cluster, each)
    @history = History.new(:pool)
    @holds = []
    super do
      @pools = { long: LONG_POOLS, short: SHORT_POOLS }.to_h do |kind, count|
        [kind, Array.new(count) { |index| create(kind, index) }.to_h]
      end
      @own = Array.new(@count) { @pools[:long].transform_values { Own.new([], nil) } }
    end
  end

  # Reads at all servers who holds each number.
  def read_all
    @cluster.servers.each_index do |place|
      @pools[:long].each_value.to_a.flatten.each do |number|
        until_known("#{number} is known") { holder(@count + place, place, number) }
      end
    end
  end

  # @return [String, nil] what is wrong with the history
  def violation = super || overlaps

  # The history, in which each call of unknown fate returned what others have seen later. A session that nobody has seen
  # got no number: whoever gets one keeps it until {#read_all}.
  #
  # @return [History]
  def settled
    unknown, known = @history.calls.partition { |call| call.operation == :lease && call.end.nil? }
    seen = known.filter_map { |call| seen_lease(call) }.uniq.group_by(&:first)
    late = unknown.group_by { |call| call.input[:session] }.flat_map do |session, calls|
      first = calls.min_by(&:start)
      seen.fetch(session, []).map { |_, lent| first.dup.tap { |call| call.output = lent } }
    end
    History.new(:pool, known + late)
  end

  private

  # @return [Array(String, Hash), nil] the session and the lease that a call has returned
  def seen_lease(call)
    lease = call.output.to_h.slice(:number, :lease)
    lease[:number] ||= call.input[:number]
    [call.output[:session], lease] if lease[:lease]
  end

  # @return [Array(String, Array<String>)] a pool and its numbers
  def create(kind, index)
    numbers = Array.new(NUMBERS_OF_A_POOL) { |number| "+1888555#{kind == :long ? 1 : 2}#{index}0#{number}" }
    pool = make("/pools", numbers: numbers, overflow_number: OVERFLOW, lifetime_seconds: HOLD_SECONDS.fetch(kind))
    @history.record(-1, pool, :create, numbers: numbers) { {} } if kind == :long
    [pool, numbers]
  end

  def step(client, place, random)
    return [lend_for_a_moment(place, @pools[:short].keys.sample(random: random)), false] if random.rand < 0.2

    pool = @pools[:long].keys.sample(random: random)
    own = @own[client][pool]
    case random.rand
    when 0..0.25 then [find(client, place, pool, own.leases.sample(random: random)), false]
    when 0.25..0.35 then [holder(client, place, @pools[:long][pool].sample(random: random)), false]
    when 0.35..0.65 then [release(client, place, pool, own), true]
    else [lease(client, place, pool, own), true]
    end
  end

  # A session that has a number gets the same again, so a call of unknown fate is repeated.
  def lease(client, place, pool, own)
    session = own.session ||= "session-#{@history.new_number}"
    result = @history.record(client, pool, :lease, session: session) do
      lent(request(place, "POST", "/pools/#{pool}/leases", body: { session: session }), session)
    end
    return result unless result.is_a?(Hash)

    own.session = nil
    own.leases << result[:lease] if result[:lease]
    result
  end

  # Only when no number is free, the pool itself has returned the overflow number.
  def lent(result, session)
    return result unless result.is_a?(Hash)
    return { number: result["number"], lease: result["lease"], session: session } unless result["overflow"]

    trouble(result["overflow_reason"])
    result["overflow_reason"] == "exhausted" ? {} : :unknown
  end

  # Its lease may be over, if an earlier call of unknown fate has released it.
  def release(client, place, pool, own)
    id = own.leases.first or return lease(client, place, pool, own)
    number = "+#{id[/\A\d+/]}"
    result = @history.record(client, pool, :release, lease: id) do
      released = request(place, "DELETE", "/pools/#{pool}/leases/#{id}", answers: { "lease_not_found" => NO_LEASE })
      released.is_a?(Hash) && released != NO_LEASE ? { number: number } : released
    end
    own.leases.delete(id) if result.is_a?(Hash)
    result
  end

  def find(client, place, pool, lease)
    return {} unless lease

    @history.record(client, pool, :find, lease: lease) do
      found = request(place, "GET", "/pools/#{pool}/leases/#{lease}", answers: { "lease_not_found" => NO_LEASE })
      found.is_a?(Hash) ? found.transform_keys(&:to_sym).slice(:number) : found
    end
  end

  # Whoever holds the number in an hour holds it now. A machine's clock may be behind the owner's, so that "now" is
  # before the last lease.
  def holder(client, place, number)
    pool, = @pools[:long].find { |_, numbers| numbers.include?(number) }
    @history.record(client, pool, :holder, number: number) do
      found = request(place, "GET", "/numbers/#{number}?at=#{(Time.now + 3600).utc.iso8601}")
      found.is_a?(Hash) ? found["holder"].to_h.transform_keys(&:to_sym).slice(:lease, :session) : found
    end
  end

  def lend_for_a_moment(place, pool)
    result = request(place, "POST", "/pools/#{pool}/leases", body: {})
    return result unless result.is_a?(Hash) && result["lease"]

    times = result.values_at("begun_at", "held_until").map { |time| Time.iso8601(time) }
    @lock.synchronize { @holds << Hold.new(result["number"], result["lease"], *times) }
    result
  end

  # @return [String, nil] what numbers were lent while somebody held them
  def overlaps
    found = @holds.group_by(&:number).values.flat_map do |holds|
      holds.sort_by(&:begun_at).each_cons(2).select { |one, two| two.begun_at < one.held_until }
    end
    "lent twice at a time: #{found.map { |pair| pair.map(&:to_a) }}" if found.any?
  end
end
