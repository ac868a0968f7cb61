# frozen_string_literal: true

require_relative "pool_case"

# Random histories of a pool beside a model that knows nothing of queues: a Hash from numbers to the ends of their holds. After every
# few steps the pool is written down and made again from its snapshot and its journal, and has to go on as if nothing had happened.
class PoolModelTest < PoolCase
  HISTORIES = Integer(ENV.fetch("RING_POOLS_HISTORIES", "40"))
  STEPS = 400

  # The obvious pool.
  class Model
    Hold = Struct.new(:due, :grant, :session)

    def initialize = @holds = {}

    # @return [String, nil] what is wrong with the answer
    def allocated(lease, now, numbers, quarantine)
      case lease.kind
      when :same
        hold = @holds[lease.number]
        "#{lease.number} is not held by #{lease.session}" unless hold && hold.grant == lease.grant && hold.due > now
      when :new
        hold = @holds[lease.number]
        return "#{lease.number} is held until #{hold.due}, now #{now}" if hold && hold.due + quarantine > now
        return "#{lease.number} is no number of the pool" unless numbers.include?(lease.number)

        @holds[lease.number] = Hold.new(lease.due, lease.grant, lease.session)
        nil
      when :overflow
        free = numbers.reject { |number| (hold = @holds[number]) && hold.due + quarantine > now }
        "#{free.size} numbers are free" unless free.empty?
      end
    end

    def live(now) = @holds.select { |_, hold| hold.due > now }
    def prolong(lease) = @holds[lease.number].due = lease.due
    def release(lease) = @holds[lease.number].due = lease.due
  end

  HISTORIES.times do |index|
    seed = Integer(ENV.fetch("RING_POOLS_SEED", Random.new_seed % 2**32)) + index
    define_method("test_history_#{index}") { play(Random.new(seed), seed) }
  end

  private

  def play(random, seed)
    @random = random
    @model = Model.new
    @quarantine = [0, 0, 7].sample(random: random) * SECOND
    @sessions = random.rand < 0.3 ? [nil] : [nil, *(0..5).map { |number| "s#{number}" }] # without any, many holds end in one go
    @policy = RingPools::Policies::NAMES.sample(random: random)
    @listed = numbers(random.rand(2..12))
    @pool = pool(@listed.size, quarantine: @quarantine, policy: @policy)
    write_down
    STEPS.times { |step| assert_nil take_step, "seed #{seed}, step #{step}" }
  end

  def take_step
    later(@random.rand(0..4)) if @random.rand < 0.4
    case @random.rand
    when 0..0.55 then allocate_one
    when 0.55..0.68 then with_a_hold { |number, grant| @pool.renew(@now, number, grant)&.tap { |lease| @model.prolong(lease) } }
    when 0.68..0.85 then with_a_hold { |number, grant| @pool.release(@now, number, grant)&.tap { |lease| @model.release(lease) } }
    when 0.85..0.9 then resize
    when 0.9..0.95 then write_down
    else make_again
    end
  end

  def allocate_one
    lease = @pool.allocate(@now, @sessions.sample(random: @random), "a=1")
    @model.allocated(lease, @pool.now, @listed, @quarantine)
  end

  def with_a_hold
    number, hold = @model.live([@now, @pool.now + 1].max).to_a.sample(random: @random)
    return unless number

    "the lease of #{number} is not known any more" unless yield(number, hold.grant)
  end

  def resize
    @listed = numbers(14).sample(@random.rand(2..12), random: @random)
    before = @model.live(@pool.now).keys
    gone = @pool.change(@now, terms(quarantine: @quarantine, policy: @policy), @listed)
    write_down
    missing = (before - @listed).reject { |number| gone.key?(number) }
    "#{missing} left without a word" unless missing.empty? || missing.all? { |number| @model.live(@pool.now)[number].nil? || gone.key?(number) }
  end

  def write_down
    @rows.rows.clear
    @snapshot = RingPools::History::Snapshots.write(@pool)
    nil
  end

  def make_again
    @pool.advance(@now)
    before = @pool.occupancy
    made = RingPools::History::Snapshots.read(@snapshot, RingPools::History::Archive::Deaf)
    RingPools::History::Steps.replay(made, @rows.rows.map { |key, value| RingPools::History::Steps.read(key, value.dup) })
    made.advance(@pool.now)
    made.journal = RingPools::History::Journal.new(@rows, 1)
    @pool = made
    "made again it is #{made.occupancy}, not #{before}" unless made.occupancy == before && made.grant >= 0
  end
end
