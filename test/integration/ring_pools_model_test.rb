# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/patience"
require_relative "../support/ring_pools_server"
require "time"

# Random histories over a real process: clients allocate, renew, release and resize while the process is paused, resumed
# and killed. A model of what was acknowledged judges them:
#
# - no number has two holders at a time, however its holds ended;
# - whatever was acknowledged is known after a kill, by its lease and by the question who had the number.
#
# RING_POOLS_ROUNDS sets how often the process is killed (2; `RING_POOLS_ROUNDS=100` for a long run), RING_POOLS_SEED
# repeats a history as far as threads allow.
class RingPoolsModelTest < Minitest::Test
  include Patience

  ROUNDS = Integer(ENV.fetch("RING_POOLS_ROUNDS", "2"))
  SEED = Integer(ENV.fetch("RING_POOLS_SEED", (Random.new_seed % 2**32).to_s))
  CLIENTS = 4
  STEPS = 60
  # By which two readings of the time may differ.
  CLOCK_SECONDS = 0.01
  # The second's numbers come back by themselves, the others' when they are released.
  LIFETIMES = [600, 0.05, 600].freeze

  # What was acknowledged of one lease. ends_at: until when the number is certainly its holder's; an unanswered release
  # ends that
  Held = Struct.new(:pool, :id, :number, :session, :begun_at, :ends_at, :released)

  def test_no_number_has_two_holders_and_nothing_acknowledged_is_forgotten
    @lock = Mutex.new
    @held = []
    RingPoolsServer.start do |server|
      @server = server
      @pools = LIFETIMES.each_with_index.map { |seconds, index| create(index, seconds) }
      ROUNDS.times do |round|
        play(round)
        server.run
        remembers_everything
      end
    end
    assert_operator @held.size, :>, 5 * ROUNDS, "seed #{SEED}: most requests were answered"
    assert_empty overlaps, "seed #{SEED}"
  end

  private

  def create(index, seconds)
    numbers = Array.new(8) { |number| "+1202555#{index}#{format('%03d', number)}" }
    @server.create(numbers.first(6), lifetime_seconds: seconds,
                                     policy: %w[longest_idle random sticky][index]).merge("all" => numbers)
  end

  # Clients work until the process is gone.
  def play(round)
    @busy = 0
    @answered = 0
    clients = Array.new(CLIENTS) do |client|
      Thread.new { work(Random.new(SEED + (round * CLIENTS) + client), "#{round}-#{client}") }
    end
    wait_until("some requests are answered") { @answered >= STEPS }
    @server.process.signal(:STOP)
    wait_until("every client waits") { @busy == CLIENTS }
    @server.process.signal(:CONT)
    wait_until("more are answered") { @answered >= 2 * STEPS }
    @server.kill
    clients.each(&:join)
  end

  def work(random, name)
    count = 0
    loop { step(random, "#{name}-#{count += 1}") }
  rescue SystemCallError, HttpClient::Closed, HttpClient::Silence
    nil
  end

  def step(random, session)
    pool = @pools.sample(random: random)
    case random.rand
    when 0..0.5 then allocate(pool, session)
    when 0.5..0.6 then prolong(random)
    when 0.6..0.9 then release(random)
    when 0.9..0.95
      ask do
        @server.put("/pools/#{pool['id']}", { numbers: pool["all"].sample(random.rand(2..8), random: random) })
      end
    else ask { @server.get("/pools/#{pool['id']}") }
    end
  end

  def ask
    @lock.synchronize { @busy += 1 }
    yield.tap { @lock.synchronize { @answered += 1 } }
  ensure
    @lock.synchronize { @busy -= 1 }
  end

  def allocate(pool, session)
    answer = ask { @server.post("/pools/#{pool['id']}/leases", { session: session }) }
    return unless answer.status == 201

    lease = answer.json
    held = Held.new(pool["id"], lease["lease"], lease["number"], session, Time.iso8601(lease["begun_at"]),
                    Time.iso8601(lease["held_until"]), false)
    @lock.synchronize { @held << held }
  end

  def prolong(random)
    held = choose(random) or return
    answer = ask { @server.put("/pools/#{held.pool}/leases/#{held.id}") }
    return unless answer.status == 200

    @lock.synchronize do
      held.ends_at = [held.ends_at, Time.iso8601(answer.json["held_until"])].max unless held.released
    end
  end

  # From the moment it is asked for nothing is certain of the lease but what came before.
  def release(random)
    held = choose(random) or return
    @lock.synchronize do
      held.released = true
      held.ends_at = [held.ends_at, Time.now - CLOCK_SECONDS].min
    end
    ask { @server.delete("/pools/#{held.pool}/leases/#{held.id}") }
  end

  def choose(random) = @lock.synchronize { @held.reject(&:released).last(20).sample(random: random) }

  def remembers_everything
    now = Time.now
    @held.each do |held|
      next if held.released || held.ends_at < now + 60

      assert_equal held.number, @server.get("/pools/#{held.pool}/leases/#{held.id}").json["number"],
                   "seed #{SEED}: #{held.id} is forgotten"
      holder = @server.get("/numbers/#{held.number}?at=#{held.begun_at.iso8601(6)}").json["holder"]
      assert_equal [held.id, held.session], holder&.values_at("lease", "session"),
                   "seed #{SEED}: who had #{held.number}"
    end
  end

  def overlaps
    @held.group_by(&:number).values.flat_map do |leases|
      leases.sort_by(&:begun_at).each_cons(2)
            .select { |earlier, later| later.begun_at < earlier.ends_at }.map { |pair| pair.map(&:to_a) }
    end
  end
end
