# frozen_string_literal: true

require "test_helper"
require "support/servers"
require "timeout"
require "support/patience"

# Elah::Redis on the bad days of its server: away, silent, slow, full, lost in the middle, and back again.
class RedisBadDaysTest < Minitest::Test
  include Patience

  def with_server(password: nil, **options)
    Servers::Redis.start(password: password) do |server|
      redis = Elah::Redis.new(server.url, **options)
      yield server, redis
    ensure
      redis&.close
    end
  end

  # @return [Integer] connections that the server has, that of the question not counted
  def connections(server)
    watcher = Elah::Redis.new(server.url)
    list = watcher.call("CLIENT", "LIST").lines
    own = watcher.call("CLIENT", "ID")
    watcher.close
    list.count { |line| line[/\Aid=(\d+)/, 1].to_i != own }
  end

  def test_a_server_that_refuses_connections_is_unavailable_at_once
    with_server do |server, redis|
      server.stop
      error = assert_raises(Elah::Unavailable) { redis.get("k") }
      assert_equal [503, "store_unavailable"], [error.status, error.code]
      assert_match(/\ARedis at #{server.address} cannot be reached: Connection refused/, error.message)
      later = Array.new(50) { assert_raises(Elah::Unavailable) { redis.get("k") }.message }
      assert_match(/The next attempt is made in 0\.\d+ s\.\z/, later.last)
    end
  end

  # Redis before 6, and one whose HELLO has another name, repeats the arguments of the command that it does not know.
  def test_a_server_without_hello_is_told_without_the_password
    Servers::Redis.start(password: "secret", settings: { "rename-command" => %w[HELLO HI] }) do |server|
      redis = Elah::Redis.new(server.url)
      [-> { redis.get("k") }, -> { redis.subscribe("k") }].each do |call|
        message = assert_raises(Elah::Unavailable, &call).message
        assert_match(/it refuses the connection: ERR unknown command .HELLO.\./, message)
      end
    end
  end

  def test_it_is_found_again_when_it_has_been_restarted
    with_server do |server, redis|
      redis.set("k", "kept")
      server.restart
      assert_equal "kept", once_available { redis.get("k") }
      server.kill
      assert_raises(Elah::Unavailable) { redis.get("k") }
      5.times { assert_raises(Elah::Unavailable) { redis.get("k") } }
      server.start
      assert_operator measure { once_available { redis.ping } }, :<, 20, "the longest pause is a second"
      assert_equal 1, connections(server)
    end
  end

  # A server that takes no writes for now refuses each of a pipeline. The replies were the class `Elah::Unavailable`, so
  # nothing was raised: the writes were taken for done.
  def test_the_refusals_of_a_pipeline_are_exceptions
    with_server do |server, redis|
      script = redis.script("return redis.call('INCR', KEYS[1])")
      redis.call("CONFIG", "SET", "min-replicas-to-write", 1)
      error = assert_raises(Elah::Unavailable) { redis.pipelined { |batch| batch.get("k") || batch.set("k", 1) } }
      assert_match(/#{server.address} refused SET: NOREPLICAS/, error.message)
      assert_raises(Elah::Unavailable) { script.call_each([{ keys: ["n"] }]) }
      replies = redis.pipelined(exception: false) { |batch| batch.get("k") || batch.set("k", 1) }
      assert_equal [NilClass, Elah::Unavailable], replies.map(&:class)
    end
  end

  def test_a_silent_server_costs_each_caller_its_time_and_no_more
    with_server(command_seconds: 0.5, connect_seconds: 0.5) do |server, redis|
      errors = []
      in_the_end { redis.ping }
      took = measure do
        Elah.run do
          in_the_end { redis.ping }
          server.pause
          50.times { Fiber.schedule { redis.get("k") rescue errors << $! } }
        end
      end
      assert_operator took, :<, 15, "one after the other takes 25 s"
      assert_equal [Elah::QueryTimeout, 504, "query_timeout"],
                   [errors.first.class, errors.first.status, errors.first.code]
      assert_equal 50, errors.size
      assert_equal "Redis at #{server.address} sent no reply to GET within 0.5 s.", errors.first.message
      server.resume
      assert_equal "PONG", once_available { redis.ping }
    end
  end

  def test_a_connection_to_a_server_that_stays_silent_is_given_up
    with_server(command_seconds: 0.1, connect_seconds: 0.1) do |server, redis|
      in_the_end { redis.ping }
      server.pause
      assert_raises(Elah::QueryTimeout) { redis.get("k") }
      errors = Array.new(6) { assert_raises(Elah::Unavailable) { redis.get("k") } }
      assert_match(/no connection within 0.1 s|said nothing for 0.2 s|next attempt/, errors.last.message)
      refute_kind_of Elah::QueryTimeout, errors.last
      server.resume
      assert_equal "PONG", once_available { redis.ping }
      wait_until("one connection is left") { connections(server) == 1 }
    end
  end

  def test_a_connection_that_is_closed_among_answers_fails_what_waits_behind_them
    with_server do |server, redis|
      redis.set("k", "kept")
      id = redis.call("CLIENT", "ID")
      error = assert_raises(Elah::Unavailable) do
        redis.pipelined do |batch|
          batch.get("k") || batch.call("CLIENT", "KILL", "ID", id, "SKIPME", "no") || batch.get("k")
        end
      end
      assert_equal "The connection to Redis at #{server.address} was lost while GET waited for its reply: " \
                   "it closed the connection.",
                   error.message
      assert_equal "kept", redis.get("k")
    end
  end

  def test_a_server_that_is_killed_while_fibers_wait
    with_server do |server, redis|
      errors = []
      Elah.run do
        redis.ping
        server.pause
        20.times { Fiber.schedule { redis.get("k") rescue errors << $! } }
        server.kill
      end
      assert_equal [[Elah::Unavailable, "store_unavailable"]] * 20, errors.map { |error| [error.class, error.code] }
    end
  end

  def test_a_script_that_never_ends
    with_server(command_seconds: 3) do |server, redis|
      redis.call("CONFIG", "SET", "busy-reply-threshold", 1)
      waiting = Thread.new { redis.eval("while true do end") rescue $! }
      other = Elah::Redis.new(server.url)
      busy = nil
      wait_until("it is busy") { busy = refusal { other.get("k") } }
      assert_equal [Elah::Unavailable, 503], [busy.class, busy.status]
      assert_match(/ BUSY Redis is busy running a script/, busy.message)
      assert_equal [Elah::QueryTimeout, 504], [waiting.value.class, waiting.value.status]
      other.call("SCRIPT", "KILL")
      assert_nil(once_available { other.get("k") })
      assert_equal "PONG", once_available { redis.ping }
      other.close
    end
  end

  def test_a_wrong_password_is_told_without_the_password
    with_server(password: "right") do |server, redis|
      assert_equal "PONG", redis.ping
      error = assert_raises(Elah::Unavailable) { Elah::Redis.new(server.url.sub("right", "private")).ping }
      assert_equal "Redis at #{server.address} cannot be reached: it refuses the connection: " \
                   "WRONGPASS invalid username-password pair or user is disabled.", error.message
      error = assert_raises(Elah::Unavailable) { Elah::Redis.new("redis://#{server.address}").ping }
      assert_includes error.message, "NOAUTH"
    end
  end

  def test_a_server_with_no_room_for_another_client
    with_server do |server, redis|
      redis.call("CONFIG", "SET", "maxclients", 1)
      other = Elah::Redis.new(server.url)
      assert_includes assert_raises(Elah::Unavailable) { other.ping }.message, "max number of clients reached"
      redis.call("CONFIG", "SET", "maxclients", 100)
      assert_equal "PONG", once_available { other.ping }
      other.close
    end
  end

  def test_a_cancelled_fiber_leaves_the_answers_of_the_others_to_them
    with_server do |_, redis|
      100.times { |index| redis.set("k#{index}", index) }
      answers = []
      slow_get = "for i = 1, 20000 do end return redis.call('GET', KEYS[1])"
      Elah.run do
        100.times do |index|
          Fiber.schedule do
            Timeout.timeout(index.even? ? 0.000_001 : patience_seconds) do
              answers << [index, redis.eval(slow_get, keys: ["k#{index}"])]
            end
          rescue Timeout::Error
            nil
          end
        end
      end
      assert_equal (1..99).step(2).to_a, answers.map(&:first).grep(->(index) { index.odd? }).sort
      assert_equal answers.map { |index, _| index.to_s }, answers.map(&:last)
      assert_equal "7", redis.get("k7")
    end
  end

  def test_what_may_wait_is_bounded
    with_server(in_flight_max: 10) do |server, redis|
      errors = []
      Elah.run do
        redis.ping
        server.pause
        fibers = 30.times.map { Fiber.schedule { redis.get("k") rescue errors << $! } }
        assert_equal [Elah::PoolExhausted] * 20, errors.map(&:class)
        assert_equal [503, "pool_exhausted"], [errors.first.status, errors.first.code]
        assert_equal 30, fibers.size
        server.resume
      end
      assert_equal 20, errors.size
    end
  end

  # Whoever waited kept the connection open, and waited until its time was over.
  def test_closing_ends_what_waits
    [true, false].each do |is_connected|
      with_server(command_seconds: 60, connect_seconds: 60) do |server, redis|
        redis.get("k") if is_connected
        server.pause
        waiting = Thread.new { assert_raises(Elah::Redis::Closed) { redis.get("k") } }
        wait_until("it waits") { waiting.stop? }
        redis.close
        waiting.value
        server.resume
      end
    end
  end

  def test_a_subscription_comes_back_with_its_channels
    with_server do |server, redis|
      subscription = redis.subscribe("ch")
      server.restart
      receivers = once_available { redis.publish("ch", "again") }
      wait_until("somebody listens") do
        receivers.positive? || (receivers = once_available { redis.publish("ch", "again") }).positive?
      end
      assert_equal "again", subscription.next_message(patience_seconds)&.payload
      assert_operator subscription.losses, :>=, 1
      subscription.close
      wait_until("one connection is left") { connections(server) == 1 }
    end
  end

  # It waited for ever, and the server counted a receiver: the connection of the parent.
  def test_a_fork_has_the_messages_of_a_subscription_of_its_parent
    with_server do |server, redis|
      subscription = redis.subscribe("ch")
      reader, writer = IO.pipe
      child = fork do
        writer.write(subscription.next_message(patience_seconds)&.payload)
        exit!
      end
      writer.close
      wait_until("both listen") { redis.publish("ch", "to both") == 2 }
      assert_equal "to both", reader.read
      Process.wait(child)
      assert_equal ["to both", 0], [subscription.next_message(patience_seconds)&.payload, subscription.losses]
      assert_operator connections(server), :>=, 2
    end
  end

  def test_no_connection_is_left_behind
    with_server do |server, redis|
      20.times { Elah.run { Fiber.schedule { redis.ping } } }
      redis.close
      wait_until("none is left") { connections(server).zero? }
      assert_raises(Elah::Redis::Closed) { redis.ping }
    end
  end

  private

  def refusal
    yield && nil
  rescue Elah::Unavailable => e
    e
  end
end
