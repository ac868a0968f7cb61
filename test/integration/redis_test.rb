# frozen_string_literal: true

require "test_helper"
require "open3"
require "support/elah_server"
require "support/servers"

# Elah::Redis against a real server: what it sends and gives back, alone, in batches, in scripts and as messages.
class RedisTest < Minitest::Test
  def setup
    @redis = Elah::Redis.new(Servers::Redis.shared.url)
    @redis.call("FLUSHALL")
  end

  def teardown
    @redis.close
  end

  # Runs the block in `count` fibers of a loop at once.
  #
  # @return [Array] what they gave
  def at_once(count)
    results = Array.new(count)
    Elah.run { count.times { |index| Fiber.schedule { results[index] = yield(index) } } }
    results
  end

  def test_answers_are_ruby_objects
    binary = "\x00\r\n\xFF".b
    assert_equal "OK", @redis.set("bytes", binary)
    assert_equal [binary, Encoding::BINARY], @redis.get("bytes").then { |value| [value, value.encoding] }
    assert_nil @redis.get("none")
    assert_equal [7, 2**62], [@redis.call(:incrby, :n, 7), @redis.call("INCRBY", "m", 2**62)]
    assert_equal 2, @redis.hset("h", { "a" => 1, b: 2.5 })
    assert_equal({ "a" => "1", "b" => "2.5" }, @redis.hgetall("h"))
    @redis.zadd("z", [[1.5, "x"], [2, "y"]])
    assert_equal [1.5, 0, %w[x y]], [@redis.zscore("z", "x"), @redis.zrevrank("z", "y"), @redis.zrange("z", 0, -1)]
    assert_equal ["1", nil, [1, ["two", nil]]],
                 [*@redis.hmget("h", "a", "none"), @redis.eval("return {1, {'two', false}}")]
    resp3 = ["return true", "return {big_number = '12345678901234567890'}",
             "return {verbatim_string = {string = 'doc', format = 'txt'}}"]
    assert_equal [true, 12_345_678_901_234_567_890, "doc"],
                 resp3.map { |script| @redis.eval("redis.setresp(3) #{script}") }
    assert_equal "x" * 5_000_000, @redis.set("long", "x" * 5_000_000) && @redis.get("long")
  end

  def test_the_convenient_commands
    assert_equal ["OK", nil, "1", nil],
                 [@redis.set("a", 1, nx: true, ex: 9), @redis.set("a", 2, nx: true),
                  @redis.set("a", 3, xx: true, get: true), @redis.set("b", 1, xx: true)]
    @redis.set("a", 1, px: 9000)
    assert_includes 1..9, @redis.ttl("a")
    assert_equal [1, 0], [@redis.exists("a"), @redis.del("none")]
    assert_equal %w[a], @redis.scan_each(match: "a*").to_a
    assert_equal 3, @redis.eval("return #KEYS + #ARGV", keys: %w[a b], args: [1])
  end

  def test_refusals_name_the_server_and_the_command_and_no_argument
    @redis.set("text", "x")
    error = assert_raises(Elah::Redis::Error) { @redis.call("lpush", "text", "private") }
    assert_equal ["WRONGTYPE", "Redis at #{@redis.server} refused LPUSH: " \
                               "WRONGTYPE Operation against a key holding the wrong kind of value."],
                 [error.code, error.message]
    error = assert_raises(Elah::Redis::Error) { @redis.call("NONSENSE", "private") }
    assert_equal "ERR", error.code
    refute_includes error.message, "private"
    assert_equal 1, @redis.incr("n"), "the connection goes on"
  end

  def test_what_cannot_be_a_word_or_would_harm_the_others_is_refused
    assert_match(/not a NilClass/, assert_raises(TypeError) { @redis.set("a", nil) }.message)
    assert_raises(ArgumentError) { @redis.call }
    { "BLPOP" => /hold up/, "select" => /path of the URL/, "MULTI" => /`multi`/,
      "subscribe" => /`subscribe`/ }.each do |name, message|
      assert_match(message, assert_raises(ArgumentError) { @redis.call(name, "x", 1) }.message)
    end
    assert_raises(ArgumentError) { @redis.pipelined { |batch| batch.call("WATCH", "x") } }
  end

  # Each of these was once sent: others waited for its end, got no replies, or the replies of another state.
  def test_commands_that_harm_the_others_by_an_option_are_refused
    [%w[XREAD BLOCK 0 STREAMS s $], %w[xreadgroup group g c count 1 block 0 streams s >], %w[WAITAOF 1 1 0],
     %w[RESET], %w[client reply off], %w[CLIENT TRACKING on], %w[CLIENT NO-TOUCH on], %w[SCRIPT DEBUG yes],
     %w[ASKING], %w[READONLY], %w[SUNSUBSCRIBE]].each do |words|
      error = assert_raises(ArgumentError) { @redis.call(*words) }
      assert_match(/that share this connection|connection that others share/, error.message)
    end
    assert_equal "PONG", @redis.ping
    @redis.call("XADD", "BLOCK", "*", "a", 1)
    assert_equal "BLOCK", @redis.call("XREAD", "COUNT", 1, "STREAMS", "BLOCK", 0).keys.first
    assert_operator @redis.call("CLIENT", "ID"), :>, 0
  end

  def test_options_are_checked
    { { time: 1 } => /no option time; there are connect_seconds/,
      { command_seconds: 0 } => /command_seconds must be a number of seconds above 0, up to 31536000, not 0/,
      { in_flight_max: 1.5 } => /whole number/,
      { cluster: 1 } => /true or false/ }.each do |options, message|
      assert_match(message,
                   assert_raises(Elah::OptionError) { Elah::Redis.new("redis://localhost", **options) }.message)
    end
    error = assert_raises(Elah::OptionError) { Elah::Redis.new("http://user:private@localhost") }
    assert_match(%r{redis://, rediss://}, error.message)
    refute_includes error.message, "private"
    assert_equal "#<Elah::Redis localhost:6379>", Elah::Redis.new("redis://:private@localhost").inspect
  end

  # With capitals, or for a Unix socket, the option had no effect.
  def test_the_option_for_a_cluster_counts_for_every_url
    assert_predicate Elah::Redis.new("REDIS://localhost", cluster: true), :cluster?
    assert_predicate Elah::Redis.new("redis+cluster://localhost", cluster: true), :cluster?
    assert_raises(Elah::OptionError) { Elah::Redis.new("redis+unix:///tmp/redis.sock", cluster: true) }
  end

  def test_a_build_without_the_client_says_how_to_get_it
    script = 'require "elah"; Elah::Clients.send(:remove_const, :Redis); ' \
             'begin; Elah::Redis; rescue Elah::OptionError => e; puts e.message; end'
    out, = Open3.capture2e(RbConfig.ruby, "-Ilib", "-e", script, chdir: File.expand_path("../..", __dir__))
    assert_equal "Elah::Redis is not part of this build of Elah: run `bin/setup --clients`, " \
                 "or install the gem with this client (docs/installing.md).\n", out
  end

  def test_a_batch_is_answered_in_order
    answers = @redis.pipelined { |batch| batch.set("k", 1) && nil || batch.incr("k") || batch.mget("k", "none") }
    assert_equal ["OK", 2, ["2", nil]], answers
    assert_equal([], @redis.pipelined { nil })
    error = assert_raises(Elah::Redis::Error) do
      @redis.pipelined { |batch| batch.lpush("k", 1) || batch.set("after", 1) }
    end
    assert_includes error.message, "refused LPUSH"
    assert_equal "1", @redis.get("after")
    kinds = @redis.pipelined(exception: false) { |batch| batch.lpush("k", 1) || batch.get("k") }.map(&:class)
    assert_equal [Elah::Redis::Error, String], kinds
  end

  def test_a_transaction_is_whole_among_many
    totals = at_once(50) do
      @redis.multi do |batch|
        batch.incr("left") || batch.incr("right") ||
          batch.eval("return redis.call('GET', 'left') - redis.call('GET', 'right')")
      end
    end
    assert_equal [0], totals.map(&:last).uniq
    assert_equal (1..50).to_a, totals.map(&:first).sort
    assert_raises(Elah::Redis::Error) { @redis.multi { |batch| batch.incr("left") || batch.call("NONSENSE") } }
    assert_equal "50", @redis.get("left")
  end

  def test_scripts_are_sent_once
    script = @redis.script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    assert_equal 2, script.call(keys: ["n"], args: [2])
    assert_equal [5, 9], script.call_each([{ keys: ["n"], args: [3] }, { keys: ["n"], args: [4] }])
    @redis.call("SCRIPT", "FLUSH")
    assert_equal [10, 1], script.call_each([{ keys: ["n"], args: [1] }, { keys: ["m"], args: [1] }])
    assert_raises(Elah::Redis::Error) { @redis.script("return nonsense(").call }
  end

  # Each loop has a connection of its own. The first was not open yet when its loop ended, and the reply of the second
  # had not come, which the next post took for a client that was closed.
  def test_what_is_posted_in_a_loop_has_run_when_the_loop_ends
    Elah.run { 100.times { @redis.post("INCR", "cold") } }
    Elah.run { @redis.get("cold") && 100.times { @redis.post("INCR", "warm") } }
    assert_equal %w[100 100], Elah.run { @redis.post("INCR", "next") && @redis.mget("cold", "warm") }
  end

  # The process ended before the connection was open.
  def test_what_a_script_and_a_hook_have_posted_has_run_when_the_process_ends
    posts = "REDIS = Elah::Redis.new('#{@redis.server.then { |server| "redis://#{server}" }}')"
    script = "require 'elah'; #{posts}; 10.times { REDIS.post('INCR', 'script') }"
    assert system(RbConfig.ruby, "-Ilib", "-e", script)
    hook = "Elah::Config.at(:before_worker_shutdown) { REDIS.post('INCR', 'hook') }"
    app = "#{posts}\n#{hook}\nrun ->(_) { [200, {}, []] }"
    ElahServer.start(app, workers: 2, &:http_url)
    assert_equal %w[10 2], @redis.mget("script", "hook")
  end

  def test_posted_commands_are_done_in_order_and_their_failures_are_told_by_the_next
    100.times { @redis.post("INCR", "posted") }
    assert_equal "100", @redis.get("posted")
    @redis.set("text", "x")
    @redis.post("INCR", "text")
    @redis.ping
    assert_match(/refused INCR/, assert_raises(Elah::Redis::Error) { @redis.post("INCR", "posted") }.message)
    assert_equal true, @redis.post("INCR", "posted")
    assert_equal "101", @redis.get("posted")
  end

  # Each child raised the failure of its parent's post, and did not send its own.
  def test_the_failure_of_a_post_is_that_of_its_process
    @redis.set("text", "one")
    @redis.post("INCR", "text")
    @redis.get("text")
    Process.wait(fork { exit!(@redis.post("INCR", "posted") && @redis.get("posted").to_i) })
    assert_equal 1, $?.exitstatus
    assert_raises(Elah::Redis::Error) { @redis.post("INCR", "posted") }
  end

  def test_five_thousand_fibers_share_one_connection
    Elah::Redis.new(Servers::Redis.shared.url).tap do |shared|
      answers = at_once(5000) { |index| [shared.set("k#{index}", index), shared.get("k#{index}")] }
      assert_equal Array.new(5000) { |index| ["OK", index.to_s] }, answers
      shared.close
    end
    received = @redis.call("INFO", "stats")[/total_connections_received:(\d+)/, 1].to_i
    at_once(5000) { |index| @redis.get("k#{index}") }
    assert_operator @redis.call("INFO", "stats")[/total_connections_received:(\d+)/, 1].to_i - received, :<=, 1
  end

  def test_threads_without_a_loop_share_a_connection_too
    threads = Array.new(20) do |index|
      Thread.new do
        Array.new(20) { @redis.incr("n") && @redis.set("t#{index}", index) && @redis.get("t#{index}") }
      end
    end
    answers = threads.map(&:value)
    assert_equal Array.new(20) { |index| [index.to_s] * 20 }, answers
    assert_equal "400", @redis.get("n")
  end

  def test_a_child_of_a_fork_has_a_connection_of_its_own
    @redis.set("before", 1)
    reader, writer = IO.pipe
    pid = fork do
      writer.write([@redis.get("before"), @redis.call("CLIENT", "ID")].inspect)
      exit!(true)
    end
    writer.close
    child = reader.read
    Process.wait(pid)
    refute_equal ["1", @redis.call("CLIENT", "ID")].inspect, child
    assert child.start_with?('["1", '), child
    assert_equal "1", @redis.get("before")
  end

  def test_messages_of_channels_and_patterns
    subscription = @redis.subscribe("news", patterns: ["news.*"])
    assert_equal [1, 1, 0],
                 [@redis.publish("news", "one"), @redis.publish("news.x", "two"), @redis.publish("other", "three")]
    assert_equal [["news", nil, "one"], ["news.x", "news.*", "two"]], Array.new(2) { subscription.next_message.to_a }
    assert_nil subscription.next_message(0.01)
    subscription.close
    assert_nil subscription.next_message
    assert_raises(ArgumentError) { @redis.subscribe }
  end

  def test_a_fiber_that_reads_messages_holds_up_nobody
    got = []
    Elah.run do
      subscribed = Queue.new
      Fiber.schedule do
        subscription = @redis.subscribe("ch")
        subscribed << true
        subscription.each { |message| break if (got << message.payload).size == 100 }
        subscription.close
      end
      subscribed.pop
      100.times { |index| @redis.publish("ch", index) }
    end
    assert_equal (0..99).map(&:to_s), got
  end

  def test_tls_with_an_authority_of_ones_own
    Servers::Redis.start(tls: true, password: "p@ss w/ord") do |server|
      url = server.url.sub("p@ss w/ord", "p%40ss%20w%2Ford")
      redis = Elah::Redis.new(url, ca_file: server.ca_file)
      assert_equal ["PONG", "x" * 300_000], [redis.ping, redis.set("k", "x" * 300_000) && redis.get("k")]
      redis.close
      error = assert_raises(Elah::Unavailable) { Elah::Redis.new(url).ping }
      assert_match(/certificate/i, error.message)
    end
  end

  def test_a_unix_socket
    Servers::Redis.start(settings: { "unixsocket" => "redis.sock" }) do |server|
      redis = Elah::Redis.new("redis+unix://#{File.join(server.folder, 'data/redis.sock')}")
      assert_equal "PONG", redis.ping
    ensure
      redis&.close
    end
  end

  def test_a_cluster
    Servers::RedisCluster.start do |cluster|
      redis = Elah::Redis.new(cluster.url.sub("redis://", "redis+cluster://"))
      answers = at_once(200) { |index| [redis.set("k#{index}", index), redis.get("k#{index}")] }
      assert_equal Array.new(200) { |index| ["OK", index.to_s] }, answers
      assert_equal (0...200).map(&:to_s), redis.pipelined { |batch| 200.times { |index| batch.get("k#{index}") } }
      assert_equal [1, { "f" => "1" }], redis.multi { |batch| batch.hset("{tag}a", "f", 1) || batch.hgetall("{tag}a") }
      assert_equal "CROSSSLOT", assert_raises(Elah::Redis::Error) { redis.call("SINTER", "a", "b", "c") }.code
      assert_equal 3, redis.script("return ARGV[1] + 0").call(keys: ["k1"], args: [3])
      assert_equal "WRONGTYPE", assert_raises(Elah::Redis::Error) { redis.lpush("k1", 1) }.code
      subscription = redis.subscribe("ch")
      redis.publish("ch", "hi")
      assert_equal "hi", subscription.next_message(60)&.payload
      subscription.close
      redis.close
    end
  end

  def test_a_cluster_with_encryption_and_a_password
    Servers::RedisCluster.start(tls: true, password: "p@ss") do |cluster|
      url = cluster.url.sub("p@ss", "p%40ss")
      redis = Elah::Redis.new(url, cluster: true, ca_file: cluster.ca_file)
      assert_equal ["OK"], Array.new(30) { |index| redis.set("k#{index}", index) }.uniq
      assert_equal (0...30).map(&:to_s), Array.new(30) { |index| redis.get("k#{index}") }
      redis.close
      stranger = Elah::Redis.new(url, cluster: true)
      assert_match(/cannot be reached: .*certificate/, assert_raises(Elah::Unavailable) { stranger.get("k") }.message)
      stranger.close
    end
  end
end
