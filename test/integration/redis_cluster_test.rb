# frozen_string_literal: true

require "test_helper"
require "support/servers"
require "timeout"
require "support/patience"

# Elah::Redis on a Redis Cluster whose masters die or stand still, whose slots move, and whose connections are cut.
class RedisClusterTest < Minitest::Test
  include Patience

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

  # It went to and fro between the two nodes, and was told as an outage.
  def test_a_transaction_with_keys_on_two_nodes_is_refused
    Servers::RedisCluster.start do |cluster|
      redis = Elah::Redis.new(cluster.url, cluster: true)
      keys = cluster.nodes.first(2).map { |node| key_on(node) }
      error = assert_raises(Elah::Redis::Error) { redis.multi { |batch| keys.each { |key| batch.set(key, 1) } } }
      assert_equal "CROSSSLOT", error.code
      refute_includes redis.pipelined { |batch| keys.each { |key| batch.get(key) } }, "1"
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

  # While one command asked for the slots, the next one went ahead.
  def test_a_post_runs_before_later_commands_of_a_slot_that_has_moved
    Servers::RedisCluster.start do |cluster|
      redis = Elah::Redis.new(cluster.url, cluster: true)
      key = key_on(cluster.nodes.first)
      redis.call("DEL", key)
      slot, began = redis.call("CLUSTER", "KEYSLOT", key), monotonic
      move_slot(cluster.nodes, slot)
      wait_until("the slots are asked for again") { monotonic - began > 0.1 }
      redis.post("DEL", key)
      redis.set(key, "later")
      assert_equal "later", redis.get(key)
      redis.close
    end
  end

  # It was the first to tell its slots, and was believed each time.
  def test_a_node_that_the_others_have_left_behind_is_not_believed
    Servers::RedisCluster.start do |cluster|
      redis = Elah::Redis.new(cluster.url, cluster: true)
      own, other = [cluster.nodes.first, cluster.nodes.last].map { |node| key_on(node) }
      redis.get(other)
      cut_off(cluster.nodes.first)
      20.times do
        assert_raises(Elah::Unavailable) { redis.get(own) }
        assert_equal "", redis.get(other)
      end
      redis.close
    end
  end

  # Commands without a connection were not counted.
  def test_the_bound_of_commands_without_a_reply_holds_before_the_slots_are_known
    Servers::RedisCluster.start do |cluster|
      redis = Elah::Redis.new(cluster.url, cluster: true, in_flight_max: 10)
      cluster.nodes.first.pause
      Elah.run do
        9.times { redis.post("INCR", "count") }
        tenth = Elah.async { redis.incr("count") }
        redis.post("INCR", "count") # its error is raised by the next one
        assert_raises(Elah::PoolExhausted) { redis.post("INCR", "count") }
        assert_raises(Elah::PoolExhausted) { redis.incr("count") }
        cluster.nodes.first.resume
        assert_equal 10, tenth.value
        assert_equal 11, redis.incr("count")
      end
      redis.close
    end
  end

  def test_closing_ends_what_waits_for_the_slots_and_for_a_node
    Servers::RedisCluster.start do |cluster|
      known, unknown = Array.new(2) do
        Elah::Redis.new(cluster.url, cluster: true, command_seconds: 60, connect_seconds: 60)
      end
      known.get("k")
      cluster.nodes.each(&:pause)
      [known, unknown].each do |redis|
        waiting = Thread.new { assert_raises(Elah::Redis::Closed) { redis.get("k") } }
        wait_until("it waits") { waiting.stop? }
        redis.close
        waiting.value
      end
      cluster.nodes.each(&:resume)
    end
  end

  def test_a_server_that_is_no_cluster_is_told
    Servers::Redis.start do |server|
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

  # Lets a node forget the others, so that it finds the cluster down.
  def cut_off(node)
    client = Elah::Redis.new(node.url)
    client.call("CONFIG", "SET", "cluster-require-full-coverage", "yes")
    others = client.call("CLUSTER", "NODES").lines.grep_v(/myself/).map { |line| line[/\A\h+/] }
    others.each { |id| client.call("CLUSTER", "FORGET", id) }
    wait_until("the cluster is down for it") { client.call("CLUSTER", "INFO").include?("cluster_state:fail") }
  ensure
    client.close
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
end
