# frozen_string_literal: true

require_relative "../test_helper"
require "support/cutting_proxy"
require "support/mongo_proxy"
require "support/servers"
require "timeout"
require "support/patience"

# What Elah::Mongo does when mongo-java-server is stopped, halted, killed, restarted, slow, or hangs up.
class MongoBadDaysTest < Minitest::Test
  include Patience

  Mongo = Elah::Mongo
  # The driver's monitor has one connection, and one more while it looks again.
  MONITORS = 2

  def setup
    @server = Servers::MongoJavaServer.start(durable: true)
    @clients = []
  end

  def teardown
    @clients.each(&:close)
    @server.remove
  end

  def test_a_stopped_server_is_unavailable_until_it_is_back
    items = client["items"]
    store({ _id: 1 })
    @server.stop
    error = assert_raises(Elah::Unavailable) { items.find_one }
    assert_match(/\A127\.0\.0\.1:#{@server.port} cannot be reached for find on test\.items: /, error.message)
    assert_equal [503, "store_unavailable"], [error.status, error.code]
    assert_within(0.5..patience_seconds) { assert_raises(Elah::Unavailable) { items.insert_one({ _id: 2 }) } }
    @server.start
    assert_equal 1, once_available { items.find_one({ _id: 1 }) }["_id"]
  end

  def test_a_wrong_port_is_unavailable
    @server.stop
    error = assert_raises(Elah::Unavailable) { client["items"].find_one }
    assert_includes error.message, "Connection refused"
  end

  def test_a_restart_between_two_reads_is_not_noticed
    items = patient["items"]
    items.insert_one({ _id: 1 })
    @server.restart
    assert_equal 1, items.find_one["_id"]
    @server.kill
    @server.start
    once_available { items.update_one({ _id: 1 }, { "$set" => { seen: true } }) }
    assert_equal true, items.find_one["seen"]
  end

  # A bulk write did not look, and insert_many told of a refused document alone: the others seemed safe.
  def test_a_write_concern_that_is_not_met_is_an_error_of_each_insert
    proxy = MongoProxy.new(@server.port)
    items = client(port: proxy.port)["items"]
    refused = { writeErrors: [{ index: 0, code: 121, errmsg: "Document failed validation" }] }
    inserts = { one: -> { items.insert_one({}) }, many: -> { items.insert_many([{}, {}]) },
                bulk: -> { items.bulk_write { |bulk| bulk.insert_one({}) } } }
    inserts.each do |name, insert|
      concern = { code: 64, codeName: "WriteConcernFailed", errmsg: "timed out" }
      unmet = { ok: 1.0, n: 1, writeConcernError: concern }
      replies = name == :one ? [unmet] : [unmet, { **unmet, **refused }]
      replies.each do |reply|
        proxy.reply(reply)
        error = assert_raises(Mongo::WriteFailed, name) { insert.call }
        assert_equal [64, reply.key?(:writeErrors) ? 1 : 0], [error.server_code, error.write_errors.size]
      end
    end
  ensure
    proxy&.close
  end

  def test_a_halted_server_is_a_timeout_and_then_goes_on
    items = client["items"]
    store({ _id: 1 })
    connect(items)
    @server.pause
    error = nil
    assert_within(0.9..patience_seconds) { error = assert_raises(Elah::QueryTimeout) { items.find_one } }
    assert_equal "127.0.0.1:#{@server.port} did not reply to find on test.items within 1 s.", error.message
    assert_equal [504, "query_timeout"], [error.status, error.code]
    assert_raises(Elah::Unavailable) { items.insert_one({ _id: 2 }) }
    @server.resume
    assert_equal 1, once_available { items.find_one({ _id: 1 }) }["_id"]
  end

  def test_a_server_that_is_halted_from_the_start_is_unavailable
    @server.pause
    error = assert_raises(Elah::Unavailable) { client["items"].find_one }
    assert_equal "store_unavailable", error.code
  end

  def test_a_query_whose_server_is_killed_ends_with_an_error
    items = patient["items"]
    store(*Array.new(100) { |number| { _id: number } })
    seen = 0
    assert_raises(Elah::Unavailable) do
      items.find({}, batch_size: 10).each do
        seen += 1
        @server.kill if seen == 15
      end
    end
    assert_equal 20, seen
  end

  def test_an_answer_that_ends_in_its_middle_is_unavailable
    store({ _id: 1, text: "x" * 500_000 })
    CuttingProxy.start(@server.port) do |proxy|
      items = client(port: proxy.port, query_seconds: patience_seconds)["items"]
      assert_equal 500_000, once_available { items.find_one }["text"].bytesize
      proxy.bytes_max = 100_000
      error = assert_raises(Elah::Unavailable) { 3.times { items.find_one } }
      assert_match(/ cannot be reached for find on test\.items: /, error.message)
      proxy.bytes_max = 0
      assert_raises(Elah::Unavailable) { 3.times { items.insert_one({ _id: 2 }) } }
      proxy.bytes_max = nil
      assert_equal 1, once_available { items.find_one({ _id: 1 }) }["_id"]
    end
  end

  def test_what_nobody_waits_for_any_more_leaves_no_trace
    mongo = patient(connections_max: 4)
    items = mongo["items"]
    items.insert_many(Array.new(200) { |number| { _id: number } })
    wrong = []
    Elah.run do
      random = Random.new(3)
      400.times do |turn|
        Fiber.schedule do
          read = Timeout.timeout(random.rand * 0.2) { items.find_one({ _id: turn % 200 }) }
          wrong << [turn, read] unless read["_id"] == turn % 200
        rescue Timeout::Error
          nil # as most of them are meant to
        end
      end
    end
    Elah.run do
      200.times { |number| Fiber.schedule { wrong << number unless items.find_one({ _id: number })["_id"] == number } }
    end
    assert_equal [], wrong
    mongo.close
    wait_until("connections are closed") { connections <= MONITORS }
  end

  def test_a_cancelled_query_ends_at_once_and_its_connection_is_closed
    Elah.run do
      mongo = patient(connections_max: 1)
      items = mongo["items"]
      items.insert_many([{ _id: 1 }, { _id: 2 }])
      @server.pause
      assert_within(0.1..patience_seconds / 2) do
        assert_raises(Timeout::Error) { Timeout.timeout(0.15) { items.find_one({ _id: 1 }) } }
      end
      @server.resume
      assert_equal [2, { running: 0, waiting: 0 }], [items.find_one({ _id: 2 })["_id"], mongo.load]
    end
  end

  # The driver's queue kept each of them, and took one out with each new operation or second.
  def test_what_was_cancelled_during_an_outage_does_not_hold_up_what_follows
    Elah.run do
      mongo = client(connections_max: 10, query_seconds: patience_seconds)
      items = mongo["items"]
      items.insert_one({ _id: 1 })
      begun = monotonic
      wait_until("it may be made anew") { items.find_one && monotonic > begun + 1 }
      @server.pause
      fibers = Array.new(10) do
        Elah.async do
          20.times { assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.02) { items.find_one } } }
        end
      end
      fibers.each(&:value)
      @server.resume
      assert_equal [1, { running: 0, waiting: 0 }], [once_available { items.find_one }["_id"], mongo.load]
    end
  end

  def test_five_thousand_fibers_share_ten_connections
    found = 0
    most = 0
    Elah.run do
      mongo = patient(connections_max: 10)
      mongo["items"].insert_one({ _id: 1 })
      5000.times do |turn|
        Fiber.schedule do
          document = mongo["items"].find_one({ _id: 1 })
          found += document["_id"]
          most = [most, connections].max if (turn % 1000).zero?
        end
      end
    end
    assert_equal 5000, found
    # On a busy machine the driver may take the server for lost and begin its pool anew, while connections of the old
    # one still answer.
    assert_includes 10..(2 * 10 + MONITORS), most
  end

  def test_five_thousand_fibers_and_a_halted_server_end_in_time
    Elah.run do
      mongo = client(connections_max: 10, pool_seconds: 0.3)
      items = mongo["items"]
      store({ _id: 1 })
      connect(items)
      @server.pause
      started = monotonic
      all = Array.new(5000) { Thread::Queue.new.tap { |queue| Fiber.schedule { queue << code_of { items.find_one } } } }
      codes = all.map(&:pop)
      assert_operator monotonic - started, :<, patience_seconds
      assert_equal %w[pool_exhausted query_timeout store_unavailable],
                   (codes.uniq | %w[query_timeout store_unavailable]).sort
      assert_operator codes.count("pool_exhausted"), :>=, 4900
      @server.resume
      assert_equal 1, once_available { items.find_one }["_id"]
      assert_equal({ running: 0, waiting: 0 }, mongo.load)
      assert_operator connections, :<=, 2 * 10 + MONITORS
    end
  end

  def test_an_exhausted_pool_says_so
    Elah.run do
      items = client(connections_max: 1, pool_seconds: 0.1, query_seconds: 2)["items"]
      connect(items)
      @server.pause
      Fiber.schedule { assert_raises(Elah::QueryTimeout) { items.find_one } }
      error = assert_raises(Elah::PoolExhausted) { items.find_one }
      assert_equal [503, "pool_exhausted"], [error.status, error.code]
      exhausted = /None of the 1 connections to 127\.0\.0\.1:\d+ became free within 0\.1 s for find on test\.items/
      assert_match(/\A#{exhausted}; \d+ operations wait\.\z/, error.message)
    end
  end

  private

  # What a test has before its bad day begins.
  def store(*documents) = patient["items"].insert_many(documents)

  # Reads until the server has answered in time: it is connected then, and warm.
  def connect(items) = once_available { items.find_one }

  # A client that a busy machine does not make fail.
  def patient(**options)
    client(connect_seconds: patience_seconds, query_seconds: patience_seconds, pool_seconds: patience_seconds,
           **options)
  end

  def client(port: @server.port, **options)
    defaults = { connect_seconds: 1, query_seconds: 1, pool_seconds: 5 }
    Mongo.new("mongodb://127.0.0.1:#{port}/test", **defaults, **options).tap { |one| @clients << one }
  end

  # @return [String, nil] the code of the error that the block ended with
  def code_of
    yield
    nil
  rescue Elah::Unavailable => e
    e.code
  end

  # @return [Integer] of this process to the server
  def connections
    port = format(":%04X", @server.port)
    File.foreach("/proc/net/tcp").count do |line|
      fields = line.split
      fields[2]&.end_with?(port) && fields[3] == "01"
    end
  end

  def assert_within(seconds)
    started = monotonic
    yield
    assert_includes seconds, monotonic - started
  end
end
