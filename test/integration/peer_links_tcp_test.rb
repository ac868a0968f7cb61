# frozen_string_literal: true

require "test_helper"
require "elah/entity/peer_links"
require "socket"
require "support/cluster_certificates"
require "support/peer_links_case"

# Calls between processes on two addresses, with mutual TLS.
class PeerLinksTcpTest < PeerLinksCase
  # The handshake and the pauses after failures take a while on a busy machine.
  SECONDS = 60

  def setup
    super
    @certificates = ClusterCertificates.new(@folder)
  end

  def test_calls_go_both_ways
    peer = start_node("node2")
    assert_match(%r{\Atls://node2@127\.0\.0\.2:\d+\z}, peer.address)
    as_node("node1") do |links|
      other = links.peer(peer.address)
      assert_equal({ a: [1, "x" * 500_000] }, other.call([:echo, { a: [1, "x" * 500_000] }], SECONDS))
      assert_equal [:called, 7], other.call([:forward, links.address, 7, SECONDS], SECONDS), "and back"
      left = other.call([:seconds_left], SECONDS)
      assert_operator left, :<=, SECONDS
      assert_operator left, :>, SECONDS / 2.0
      error = assert_raises(ArgumentError) { other.call([:fail, "ArgumentError", "over there"], SECONDS) }
      assert_includes error.backtrace.join, "#{peer.address}:in `worker called from'"
      assert_includes links.to_h.fetch(peer.address).to_a, [:connected, true]
      assert_empty @complaints
    end
  end

  def test_many_messages_are_one_call
    peers = [start_node("node2"), start_node("node3", host: "127.0.0.3")]
    as_node("node1") do |links|
      results = Elah.gather(deadline: SECONDS) do |gather|
        20.times { |index| gather.call(index, Deferred.new(links.peer(peers[index % 2].address), [:echo, index])) }
      end
      assert_equal [*0...20], results.values
    end
  end

  def test_an_address_may_name_one_worker
    peer = start_node("node2")
    as_node("node1") do |links|
      assert_equal 1, links.peer("#{peer.address}/#{peer.pid}").call([:echo, 1], SECONDS)
      error = assert_raises(Elah::PeerUnavailable) { links.peer("#{peer.address}/1").call([:echo, 1], SECONDS) }
      assert_includes error.message, "it is writer #{peer.pid} now, not 1"
      refute_predicate error, :may_have_run?
    end
  end

  def test_another_authority_or_name_is_refused_without_running_anything
    elsewhere = ClusterCertificates.new(FileUtils.mkdir_p(File.join(@folder, "other")).first)
    stranger = start_node("node2", tls: elsewhere.issue("node2"))
    peer = start_node("node3")
    as_node("node1") do |links|
      { stranger.address => /its certificate is not accepted: no authority of the cluster has signed it/,
        peer.address.sub("node3", "node2") => /it must name node2 as a DNS name in subjectAltName, and names node3/,
        "tcp://node3@127.0.0.1:9400" => /is called without TLS/,
        "tcp://node3@10.0.0.1:9400" => /needs tls:/,
        "tls://node3" => /is not of the form/ }.each do |address, reason|
        error = assert_raises(Elah::PeerUnavailable) { links.peer(address).call([:note, 1], SECONDS) }
        assert_match reason, error.message
        refute_predicate error, :may_have_run?
      end
      assert_equal [], links.peer(peer.address).call([:notes], SECONDS)
      assert_equal 2, @complaints.size, @complaints.inspect
    end
  end

  def test_clients_without_a_certificate_of_the_cluster_run_nothing
    elsewhere = ClusterCertificates.new(FileUtils.mkdir_p(File.join(@folder, "other")).first)
    peer = start_node("node2")
    call = HELLO + call_frame(1, Marshal.dump([:note, "forged"]))
    port = Integer(peer.address[/\d+\z/])
    socket = TCPSocket.new("127.0.0.2", port)
    socket.write(call)
    assert_closed(socket)
    stranger = elsewhere.client("node1").tap { |context| context.ca_file = @certificates.authority }
    [@certificates.client(nil), stranger, @certificates.client("node1")].each do |context|
      secured = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.2", port), context)
      secured.hostname = "node2"
      secured.connect
      secured.write(call) # without a name of a cluster in the hello
      assert_closed(secured)
    end
    as_node("node1") { |links| assert_equal [], links.peer(peer.address).call([:notes], SECONDS) }
  end

  def test_a_killed_machine_may_have_run_the_call
    peer = start_node("node2")
    as_node("node1") do |links|
      other = links.peer(peer.address)
      call = Elah.async { other.call([:wait_noting_the_end, SECONDS], SECONDS) }
      wait_until("it runs there") { other.call([:notes], SECONDS) == [:begun] }
      peer.kill
      assert_predicate assert_raises(Elah::PeerUnavailable) { call.value }, :may_have_run?
      refute_predicate assert_raises(Elah::PeerUnavailable) { other.call([:notes], SECONDS) }, :may_have_run?
    end
  end

  def test_a_paused_machine_costs_the_deadline_and_is_limited
    peer = start_node("node2")
    as_node("node1") do |links|
      other = links.peer(peer.address)
      assert_equal 1, other.call([:echo, 1], SECONDS)
      peer.pause
      assert_raises(Elah::PeerLimited) { 20.times { call_in_time(other, [:note, 1]) } }
      peer.continue
      wait_until("it is called again") { call_in_time(other, [:echo, 2], limited: nil) == 2 && turn }
      assert_equal 3, other.call([:echo, 3], SECONDS)
    end
  end

  def test_a_new_certificate_is_used_without_a_restart
    peer = start_node("node2")
    port = Integer(peer.address[/\d+\z/])
    as_node("node1") do |links|
      call = Elah.async { links.peer(peer.address).call([:wait, 3, :done], SECONDS) }
      old = presented(port)
      new = File.read(@certificates.issue("node2")[:certificate])
      refute_equal old, new
      wait_until("the new one is presented") { presented(port) == new }
      assert_equal :done, call.value, "a call that runs meanwhile"
      assert_equal 1, links.peer(peer.address).call([:echo, 1], SECONDS)
    end
  end

  # The clock of the authority was ahead by some seconds. The file had been looked at, and was not read again.
  def test_a_new_certificate_that_is_not_valid_yet_is_used_once_it_is
    peer = start_node("node2")
    new = File.read(@certificates.issue("node2", begins_in: 3)[:certificate])
    port = Integer(peer.address[/\d+\z/])
    refute_equal new, presented(port)
    wait_until("the new one is presented") { presented(port) == new }
  end

  def test_options_that_cannot_work_are_refused_at_the_start
    expired = @certificates.issue("node1", seconds: -60)
    { { cluster_listen: "10.0.0.11:9400", cluster_node: "node1" } => /11 is not a loopback address, so it needs mutual/,
      { cluster_listen: "0.0.0.0:9400", cluster_node: "node1" } => /must be one address of this machine/,
      { cluster_listen: "127.0.0.1:9400-9402", workers: 3 } => /Too few ports: .* 3, and there are 3 workers: each wor/,
      { cluster_listen: "127.0.0.1:0", cluster_node: "10.0.0.1" } => /cannot be the name of a node/,
      { cluster_listen: "127.0.0.1:0", cluster_node: "node1", cluster_tls: expired } => /node1\.pem: it has expired/,
      { cluster_tls: expired } => /cluster_tls has no effect without cluster_listen/ }.each do |options, reason|
      error = assert_raises(Elah::ListenError, Elah::OptionError) { Elah::Config.build(**options).check_cluster! }
      assert_match reason, error.message
    end
    Elah::Config.build.check_cluster!
    Elah::Config.build(cluster_listen: "127.0.0.1:9400-9402", workers: 2).check_cluster!
    Elah::Config.build(cluster_listen: "127.0.0.1:9400", workers: 1).check_cluster!
    Elah::Config.build(**node_options("node1", "10.0.0.11")).check_cluster!
  end

  def test_without_tls_processes_of_this_user_call_each_other_on_loopback
    peer = start_peer(cluster_listen: "127.0.0.2:0", cluster_node: "node2")
    as_worker(cluster_listen: "127.0.0.1:0", cluster_node: "node1") do |links|
      assert_raises(Elah::PeerUnavailable) { links.peer(peer.address).call([:echo, 1], SECONDS) }
      links.identify("shop", 1)
      assert_match(%r{\Atcp://node2@127\.0\.0\.2:}, peer.address)
      assert_equal 1, links.peer(peer.address).call([:echo, 1], SECONDS)
      assert_raises(ArgumentError) { links.identify("", 1) }
    end
    as_worker { |links| assert_raises(ArgumentError) { links.identify("shop", 1) } && assert_nil(links.address) }
  end

  private

  def node_options(node, host, tls: @certificates.issue(node))
    { cluster_listen: "#{host}:0", cluster_node: node, cluster_tls: tls }
  end

  def start_node(node, host: "127.0.0.2", tls: @certificates.issue(node))
    tls = tls.map { |name, path| "#{name}=#{path}" }.join(",")
    start_peer(**node_options(node, host, tls: tls))
  end

  def as_node(node)
    as_worker(**node_options(node, "127.0.0.1")) do |links|
      links.identify("shop", 1)
      yield links
    end
  end

  # The certificate of node2, in PEM form.
  def presented(port)
    secured = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.2", port), @certificates.client("node1"))
    secured.sync_close = true
    secured.connect
    secured.peer_cert.to_pem
  ensure
    secured&.close
  end

  def assert_closed(socket)
    assert_raises(EOFError, SystemCallError, OpenSSL::SSL::SSLError) do
      Timeout.timeout(SECONDS) { loop { socket.readpartial(1000) } }
    end
  ensure
    socket.close
  end
end
