# frozen_string_literal: true

require "test_helper"
require "support/elah_server"
require "support/listener"
require "support/patience"
require "support/process_memory"
require "support/servers"

# Named broadcasts over real sockets: listeners of all workers and machines receive each event once, and a machine that
# stands still delays nobody.
class BroadcastClusterTest < Minitest::Test
  include Patience

  APP = <<~'RUBY'
    STORE = Elah::Store.open(Elah.config.state("news"))
    NEWS = Elah::Broadcast.named("news", store: STORE, unread_max: 200)
    OWN = Elah::Broadcast.new

    class App < Elah::API
      format :json
      before { header "x-worker", Process.pid.to_s }
      helpers { def known = [STORE.placement.neighbours.size, STORE.placement.machines.transform_values(&:size)] }
      get(:news) { broadcast NEWS }
      get(:own) { broadcast OWN }
      post("news/:text") { NEWS.push(params[:text]); OWN.push(params[:text]); "" }
      post("thread/:text") { params[:text].tap { |text| Thread.new { NEWS.push(text) }.join } }
      post("many/:text") { 100.times { |number| NEWS.push("#{params[:text]}#{number}") }; "" }
      post(:flood) { 200.times { NEWS.push("x" * 100_000) }; "" }
      get(:seen) { { unsent: NEWS.unsent, known: known } }
    end
    run App
  RUBY
  MACHINES = { cluster_listen: "127.0.0.1:24000-24999", lease_seconds: 2.5, shards: 16, request_seconds: 60 }.freeze

  def setup
    @servers = []
  end

  def teardown
    @servers.each(&:kill)
    @database&.remove
  end

  def test_listeners_of_all_workers_of_a_server_receive_each_event_once
    @servers << ElahServer.start(APP, workers: 3)
    listeners = listeners_on_each_worker(@servers[0], 3)
    assert_everybody_hears(listeners, @servers)
  end

  def test_listeners_of_all_workers_of_all_machines_receive_each_event_once
    start_machines(workers: 2)
    listeners = @servers.flat_map { |server| listeners_on_each_worker(server, 2) }
    assert_everybody_hears(listeners, @servers)
    @servers[0].signal(:TERM)
    @servers[0].wait_until_ended
    @servers[1].request("POST", "/news/alone")
    listeners.last(2).each { |listener| listener.read_until("data: alone\n\n") }
  end

  def test_a_broadcast_without_a_name_reaches_one_worker
    @servers << ElahServer.start(APP, workers: 2)
    listeners = listeners_on_each_worker(@servers[0], 2, "/own")
    worker = push(@servers[0], "/news/once")
    listeners.each { |one| one.read_until("data: once") if one.head["x-worker"] == worker }
    others = listeners.reject { |one| one.head["x-worker"] == worker }
    wait_until("another worker pushes") { push(@servers[0], "/news/end") != worker }
    others.each { |one| assert_equal ["end"], one.tap { one.read_until("data: end") }.data.uniq }
  end

  # What is sent to it is dropped, and counted; the sender does not grow, and goes on.
  def test_a_machine_that_stands_still_delays_nobody
    start_machines(workers: 1)
    one, two = @servers
    other = Listener.new(two)
    10.times { one.request("POST", "/flood") }
    two.signal(:STOP)
    before = ProcessMemory.resident_bytes(one.pid)
    40.times { one.request("POST", "/flood") } # 800 MB
    listener = Listener.new(one)
    push(one, "/news/here")
    listener.read_until("data: here\n\n")
    assert_operator ProcessMemory.resident_bytes(one.pid) - before, :<, 300_000_000
    assert_operator one.get("/seen").json["unsent"], :>, 100
    two.signal(:CONT)
    wait_until("it is told again") do
      one.request("POST", "/news/again")
      two.get("/seen")
      one.get("/seen").json["known"] == [0, { "two" => 1 }] && other.client.read_chunk.include?("data: again")
    end
  end

  private

  def start_machines(**options)
    @database = Servers::PostgreSQL.start
    %w[one two].each do |node|
      @servers << ElahServer.start(APP, cluster: @database.url, cluster_node: node, **MACHINES, **options)
    end
    workers = options[:workers]
    @servers.zip(%w[two one]) do |server, other|
      knowing = {}
      wait_until("each worker knows all others") do
        seen = server.get("/seen")
        knowing[seen["x-worker"]] = true if seen.json["known"] == [workers - 1, { other => workers }]
        knowing.size == workers
      end
    end
  end

  # @return [Array<Listener>] one for each worker of a server
  def listeners_on_each_worker(server, count, path = "/news")
    found = {}
    wait_until("each worker has a listener") do
      listener = Listener.new(server, path)
      found[listener.head["x-worker"]] ||= listener
      found.size == count
    end
    found.values
  end

  # @return [String] the worker that has pushed
  def push(server, path) = server.request("POST", path).tap { |response| assert_equal 201, response.status }["x-worker"]

  def assert_everybody_hears(listeners, servers)
    senders = servers.flat_map { |server| Array.new(6) { server } }
    senders.each_with_index { |server, index| push(server, "/news/n#{index}-") }
    push(servers[0], "/many/m")
    push(servers[-1], "/thread/end")
    expected = Array.new(senders.size) { |index| "n#{index}-" } + Array.new(100) { |number| "m#{number}" }
    listeners.each do |listener|
      expected.each { |text| listener.read_until("data: #{text}\n\n") }
      listener.read_until("data: end\n\n")
      heard = listener.data - ["end"]
      assert_equal expected.sort, heard.sort
      assert_equal expected.last(100), heard.grep(/\Am/), "events of one worker arrive in order"
    end
  end
end
