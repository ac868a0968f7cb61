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
        redis.pipelined { |batch| batch.get("k") || batch.call("CLIENT", "KILL", "ID", id, "SKIPME", "no") || batch.get("k") }
      end
      assert_equal "The connection to Redis at #{server.address} was lost while GET waited for its reply: it closed the connection.",
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
      Elah.run do
        100.times do |index|
          Fiber.schedule do
            Timeout.timeout(index.even? ? 0.000_001 : patience_seconds) { answers << [index, redis.eval("for i = 1, 20000 do end return redis.call('GET', KEYS[1])", keys: ["k#{index}"])] }
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

  def test_a_subscription_comes_back_with_its_channels
    with_server do |server, redis|
      subscription = redis.subscribe("ch")
      server.restart
      receivers = once_available { redis.publish("ch", "again") }
      wait_until("somebody listens") { receivers.positive? || (receivers = once_available { redis.publish("ch", "again") }).positive? }
      assert_equal "again", subscription.next_message(patience_seconds)&.payload
      assert_operator subscription.losses, :>=, 1
      subscription.close
      wait_until("one connection is left") { connections(server) == 1 }
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

  # Of the node that is killed the client has its URL, a connection and the key.
  def test_a_cluster_whose_master_is_killed_goes_on_with_its_replica
    Servers::RedisCluster.start(replicas: 1) do |cluster|
      redis = Elah::Redis.new(cluster.url, cluster: true, command_seconds: 5)
      key = key_on(cluster.nodes.first)
      redis.set(key, "kept")
      await_replica(cluster.nodes.first)
      cluster.nodes.first.kill
      assert_equal "kept", in_the_end { redis.get(key) }
      assert_equal "OK", in_the_end { redis.set(key, "after the failover") }
      assert_equal "after the failover", redis.get(key)
      others = Array.new(100) { |index| "other #{index}" }
      assert_equal others, others.each { |other| redis.set(other, other) }.map { |other| redis.get(other) }
      redis.close
    end
  end

  # It asked the node of the URL for ever.
  def test_a_subscription_of_a_cluster_goes_on_at_another_node
    Servers::RedisCluster.start(replicas: 1) do |cluster|
      redis = Elah::Redis.new(cluster.url, cluster: true)
      redis.get("k") # which makes the nodes known
      subscription = redis.subscribe("news")
      cluster.nodes.first.kill
      wait_until("it goes on") { in_the_end { redis.publish("news", "hello") } && subscription.next_message(0) }
      assert_operator subscription.losses, :>=, 1
      later = redis.subscribe("later")
      redis.publish("later", "hi")
      assert_equal "hi", later.next_message(patience_seconds)&.payload
      [subscription, later, redis].each(&:close)
    end
  end

  # The client sent a command again when its connection was lost, also one that the node had run.
  def test_a_cluster_runs_no_command_twice_whose_connection_is_lost
    Servers::RedisCluster.start do |cluster|
      redis = Elah::Redis.new(cluster.url, cluster: true)
      acknowledged = failed = 0
      cutting(cluster.nodes, -> { acknowledged }) do
        Elah.run do
          Array.new(8) do
            Elah.async do
              400.times do
                redis.pipelined { |batch| 5.times { batch.incr("count") } }
                acknowledged += 5
              rescue Elah::Unavailable
                failed += 5
              end
            end
          end.each(&:value)
        end
      end
      assert_operator failed, :>, 0
      assert_includes acknowledged..acknowledged + failed, once_available { redis.get("count") }.to_i
      redis.close
    end
  end

  # Nobody closes the connections of a paused node. Another one has its slots when the others have noticed.
  def test_a_cluster_whose_master_is_paused_goes_on_with_its_replica
    Servers::RedisCluster.start(replicas: 1) do |cluster|
      redis = Elah::Redis.new(cluster.url, cluster: true, command_seconds: 1)
      key = key_on(cluster.nodes[1])
      redis.set(key, "kept")
      await_replica(cluster.nodes[1])
      cluster.nodes[1].pause
      assert_equal "OK", in_the_end { redis.set(key, "after the failover") }
      assert_equal "after the failover", redis.get(key)
      cluster.nodes[1].resume
      assert_equal "after the failover", redis.get(key)
      redis.close
    end
  end

  def test_keys_that_are_moving_are_found
    Servers::RedisCluster.start do |cluster|
      redis = Elah::Redis.new(cluster.url, cluster: true)
      moving(cluster, redis, key = key_on(cluster.nodes.first)) do |source, finish|
        assert_equal %w[1 2], [redis.get("{#{key}}here"), redis.get("{#{key}}there")]
        assert_equal [3, 4], redis.multi { |batch| 2.times { batch.incr("{#{key}}there") } }
        assert_equal %w[1 4], redis.pipelined { |batch| %w[here there].each { |name| batch.get("{#{key}}#{name}") } }
        both = Thread.new { redis.mget("{#{key}}here", "{#{key}}there") }
        wait_until("they are not together") { source.call("INFO", "errorstats")[/TRYAGAIN:count=(\d+)/, 1].to_i > 20 }
        finish.call
        assert_equal %w[1 4], both.value
      end
      redis.close
    end
  end

  # The caller that asked for the slots was cancelled, and nobody asked again.
  def test_a_cluster_whose_first_caller_was_cancelled
    Servers::RedisCluster.start do |cluster|
      redis = Elah::Redis.new(cluster.url, cluster: true)
      Elah.run do
        cluster.nodes.first.pause
        assert_raises(Timeout::Error) { Timeout.timeout(0.05) { redis.get("k") } }
        cluster.nodes.first.resume
        assert_nil redis.get("k")
      end
      redis.close
    end
  end

  def test_a_server_that_is_no_cluster_is_told
    with_server do |server|
      redis = Elah::Redis.new(server.url, cluster: true)
      error = assert_raises(Elah::Unavailable) { redis.get("k") }
      assert_match(/cannot be reached: ERR This instance has cluster support disabled\.\z/, error.message)
      redis.close
    end
  end

  # Only the replies of its commands name the new node of a transaction. It failed until another command found the slot.
  def test_a_transaction_follows_its_slot
    Servers::RedisCluster.start do |cluster|
      redis = Elah::Redis.new(cluster.url, cluster: true)
      key = key_on(cluster.nodes.first)
      redis.call("DEL", key)
      move_slot(cluster.nodes, redis.call("CLUSTER", "KEYSLOT", key))
      assert_equal [1, 2], redis.multi { |batch| 2.times { batch.incr(key) } }
      redis.close
    end
  end

  private

  # Cuts the connections of all clients while the block runs, each time that something was acknowledged.
  def cutting(nodes, acknowledged)
    is_over = false
    thread = Thread.new do
      clients = nodes.map { |node| Elah::Redis.new(node.url) }
      until is_over
        count = acknowledged.call
        Thread.pass until is_over || acknowledged.call > count + 200
        clients.each { |client| client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") }
      end
      clients.each(&:close)
    end
    yield
  ensure
    is_over = true
    thread.join
  end

  # Gives a slot without keys to the last node.
  def move_slot(nodes, slot)
    clients = nodes.map { |node| Elah::Redis.new(node.url) }
    id = clients.last.call("CLUSTER", "MYID")
    clients.reverse_each { |client| client.call("CLUSTER", "SETSLOT", slot, "NODE", id) }
    clients.each(&:close)
  end

  # While the block runs, the first node gives a slot to the last one: `here` is still on it, `there` on the other.
  def moving(cluster, redis, key)
    redis.call("DEL", key)
    redis.mset("{#{key}}here", 1, "{#{key}}there", 2)
    slot = redis.call("CLUSTER", "KEYSLOT", key)
    source, target = nodes = cluster.nodes.values_at(0, -1).map { |node| Elah::Redis.new(node.url) }
    ids = nodes.map { |node| node.call("CLUSTER", "MYID") }
    move = ->(name) { source.call("MIGRATE", "127.0.0.1", cluster.nodes.last.port, "{#{key}}#{name}", 0, 5000) }
    target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
    source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
    move.call("there")
    yield source, lambda {
      move.call("here")
      nodes.reverse_each { |node| node.call("CLUSTER", "SETSLOT", slot, "NODE", ids[1]) }
    }
  ensure
    nodes&.each(&:close)
  end

  def key_on(node)
    redis = Elah::Redis.new(node.url)
    Enumerator.produce(0, &:succ).lazy.map { |number| "key #{number}" }.find do |key|
      redis.set(key, "") # another node refuses it
    rescue Elah::Redis::Error
      nil
    end
  ensure
    redis.close
  end

  # What was acknowledged is on the replica too, which Redis promises nobody.
  def await_replica(node)
    redis = Elah::Redis.new(node.url)
    wait_until("the replica has all") do
      state = redis.call("INFO", "replication")
      state[/slave0:.*state=online,offset=(\d+)/, 1] == state[/master_repl_offset:(\d+)/, 1]
    end
  ensure
    redis.close
  end

  # Tries again while a cluster is not whole: its nodes do not answer, or say so.
  def in_the_end
    once_available do
      yield
    rescue Elah::QueryTimeout => e
      raise Elah::Unavailable, e.message
    end
  end

  def refusal
    yield && nil
  rescue Elah::Unavailable => e
    e
  end
end
