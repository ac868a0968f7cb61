# frozen_string_literal: true

require "test_helper"
require "elah/peer_links"
require "socket"
require "support/peer_links_case"

# What becomes of calls when the other worker is slow, gone, full or no worker at all.
class PeerLinksBadDaysTest < PeerLinksCase
  def test_a_call_without_an_answer_ends_at_its_deadline_and_its_owner_stops
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      assert_equal 1, other.call([:echo, 1], 5)
      error = assert_raises(Elah::DeadlineExceeded) { other.call([:wait_noting_the_end, 60], 0.05) }
      assert_match(/\AThe worker at .* did not answer within 0\.05 s\.\z/, error.message)
      wait_until("the owner has stopped") { other.call([:notes], 5).size == 2 }
      assert_equal [:begun, "Elah::Cancelled"], other.call([:notes], 5)
    end
  end

  def test_who_is_cancelled_has_its_call_cancelled
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      fiber = Elah.async { other.call([:wait_noting_the_end, 60], 60) }
      wait_until("it has begun") { other.call([:notes], 5) == [:begun] }
      fiber.cancel.wait
      wait_until("the owner has stopped") { other.call([:notes], 5).size == 2 }
      assert_equal [:begun, "Elah::Cancelled"], other.call([:notes], 5)
      assert_equal [:open, 0], other.limiter.to_h.values_at(:state, :in_flight)
    end
  end

  def test_the_time_that_is_left_travels
    peers = [start_peer, start_peer]
    as_worker do |links|
      other = links.peer(peers[0].path)
      assert_in_delta 2, other.call([:seconds_left], 2), 1
      assert_operator other.call([:forward, peers[1].path, [:seconds_left], 30], 2), :<=, 2, "the shorter one counts"
      assert_operator Elah.timeout(1) { other.call([:seconds_left], 30) }, :<=, 1
    end
  end

  def test_who_is_killed_is_told_of_at_once_and_is_back_when_it_is_back
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      waiting = Array.new(20) { Elah.async { other.call([:wait, 60, 1], 60) } }
      wait_until("all have begun") { other.call([:links], 5) == [21, 0] }
      peer.kill
      errors = waiting.map { |fiber| assert_raises(Elah::PeerUnavailable) { fiber.value } }
      assert errors.all?(&:may_have_run?)
      error = assert_raises(Elah::PeerUnavailable) { other.call([:echo, 1], 5) }
      refute_predicate error, :may_have_run?
      assert_equal [503, "peer_unavailable"], [error.status, error.code]
      assert_match(/cannot be reached: Connection refused/, error.message)
      peer.start
      assert_equal(1, once_available { other.call([:echo, 1], 5) })
    end
  end

  def test_a_peer_that_never_was_costs_nobody_any_time
    as_worker do |links|
      other = links.peer(File.join(@folder, "nobody.sock"))
      errors = Array.new(1000) { assert_raises(Elah::PeerUnavailable) { other.call(:hello, 60) } }
      assert errors.none?(&:may_have_run?)
      assert_match(/No such file/, errors.last.message)
      results = Elah.gather { |g| g.call(:a, Deferred.new(other, 1), fallback: :none) }
      assert_equal [:failed, :none], [results[:a].outcome, results[:a].value]
    end
  end

  # Calls end at their deadline while it sleeps, later ones at once; none of those that nobody waits for is run when it wakes.
  def test_a_paused_worker_is_limited_and_open_again_when_it_goes_on
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      assert_equal :ready, other.call([:echo, :ready], 5)
      peer.pause
      late = Array.new(100) { |index| Elah.async { assert_raises(Elah::DeadlineExceeded) { other.call([:note, index], 0.05) } } }
      late.each(&:value)
      assert_equal :probing, other.limiter.state
      outcomes = Array.new(20) do
        Elah.gather(deadline: 0.05) { |g| 5.times { |index| g.call(index, Deferred.new(other, [:note, index]), fallback: 0) } }.map(&:outcome).uniq
      end
      assert_includes outcomes, [:limited]
      assert_equal([], outcomes.uniq - [[:limited], [:late]])
      limited = assert_raises(Elah::PeerLimited) { 1000.times { call_in_time(other, [:note, 0]) } }
      assert_equal [503, "peer_limited"], [limited.status, limited.code]
      state = links.to_h.fetch(peer.path)
      assert_equal [true, :probing, 1], state.values_at(:connected, :state, :allowance)
      assert_operator state[:limited_calls], :>, 0

      peer.continue
      wait_until("it is open") { call_in_time(other, [:echo, 1], limited: nil) && other.limiter.state == :open }
      assert_empty other.call([:notes], 5), "what nobody waits for is not run"
    end
  end

  def test_calls_that_do_not_fit_fail_at_once
    peer = start_peer
    as_worker(link_calls_max: 10, link_waiting_bytes_max: 100_000, link_payload_bytes_max: 50_000) do |links|
      other = links.peer(peer.path)
      assert_equal 1, other.call([:echo, 1], 5)
      waiting = Array.new(10) { Elah.async { other.call([:wait, 60, 1], 60) } }
      assert_match(/\A10 calls to this worker have no answer yet/, assert_raises(Elah::Overloaded) { other.call([:echo, 1], 5) }.message)
      waiting.each { |fiber| fiber.cancel.wait }
      error = assert_raises(Elah::PeerLinks::TooLong) { other.call([:echo, "x" * 50_000], 5) }
      assert_match(/and 50000 are allowed/, error.message)
      peer.pause
      errors = Array.new(40) { Elah.async { other.call([:length, "x" * 40_000], 0.2) } }.map { |fiber| fiber.wait.error }
      assert_equal [Elah::DeadlineExceeded, Elah::Overloaded], errors.map(&:class).uniq.sort_by(&:name)
      assert_equal ["100000 bytes of calls wait to be sent to this worker."], errors.grep(Elah::Overloaded).map(&:message).uniq
      peer.continue
      wait_until("it is open") { call_in_time(other, [:echo, 1], limited: nil) == 1 }
    end
  end

  def test_a_worker_runs_no_more_calls_than_it_may
    peer = start_peer(link_calls_max: 5)
    as_worker do |links|
      other = links.peer(peer.path)
      waiting = Array.new(8) { Elah.async { other.call([:wait, 0.2, 1], 60) } }
      outcomes = waiting.map { |fiber| fiber.wait.error&.message || fiber.value }
      assert_equal [1] * 5 + ["The worker at #{peer.path} runs too many calls already."] * 3, outcomes.sort_by(&:to_s)
      assert_equal 1, other.call([:echo, 1], 5)
    end
  end

  def test_answers_that_are_too_long_say_so
    peer = start_peer(link_payload_bytes_max: 1000)
    as_worker do |links|
      other = links.peer(peer.path)
      assert_raises(Elah::PeerLinks::TooLong) { other.call([:text, 1000], 5) }
      results = Elah.gather(deadline: 5) { |g| 20.times { |index| g.call(index, Deferred.new(other, [:text, 100])) } }
      assert_equal [Elah::PeerLinks::TooLong] * 20, results.map { |result| result.error.class }, "all of one part"
      assert_equal 900, other.call([:text, 900], 5).size
    end
  end

  # Who does not read what it asked for is not read from, and what does not fit is dropped with a word.
  def test_an_owner_holds_a_bounded_number_of_bytes_for_who_does_not_read
    peer = start_peer(link_waiting_bytes_max: 1_000_000)
    socket = UNIXSocket.new(peer.path)
    socket.write(HELLO)
    500.times { |id| socket.write(call_frame(id, Marshal.dump([:text, 100_000]))) }
    as_worker do |links|
      other = links.peer(peer.path)
      wait_until("all have run") { other.call([:links], 5).first == 1 }
      assert_operator other.call([:links], 5).last, :<=, 1_100_000
    end
  ensure
    socket&.close
  end

  def test_garbage_closes_the_link_alone
    peer = start_peer
    as_worker do |links|
      own = File.join(@folder, "test.sock")
      { "GET / HTTP/1.1\r\nHost: x\r\n\r\n" => /frame of \d+ bytes/,
        "\xFF\xFF\xFF\xFF" => /frame of 4294967295 bytes/,
        "\x09\x00\x00\x00\x04\x01\x00\x00\x00\x00\x00\x00\x00" => /did not begin as a link/,
        HELLO.dup.tap { |hello| hello.setbyte(13, 99) } => /speaks version 99/,
        HELLO + HELLO => /hello twice/,
        HELLO + "\x0D\x00\x00\x00\x02" + "\x00" * 12 => /no items/,
        HELLO + "\x0D\x00\x00\x00\x02" + "\x01" * 12 => /only the other side/,
        HELLO + call_frame(7, "x") * 2 => /the id of a call that is open/ }.each do |bytes, complaint|
        @complaints.clear
        socket = UNIXSocket.new(own)
        socket.write(bytes)
        wait_until("the link is closed") { Elah.timeout(5) { read_to_end(socket) } }
        socket.close
        wait_until("it is noted") { turn && @complaints.any? }
        assert_match complaint, @complaints.last
      end
      assert_equal 1, links.peer(peer.path).call([:echo, 1], 5)
      assert_equal [:called, 1], links.peer(own).call(1, 5)
    end
  end

  def test_random_bytes_never_end_a_worker
    peer = start_peer
    random = Random.new(4)
    200.times do
      socket = UNIXSocket.new(peer.path)
      socket.write(random.rand(2).zero? ? random.bytes(random.rand(1..3000)) : HELLO + random.bytes(random.rand(1..3000)))
      socket.close
    rescue Errno::EPIPE, Errno::ECONNRESET, Errno::ENOTCONN
      nil # it has closed already
    end
    as_worker { |links| assert_equal 1, links.peer(peer.path).call([:echo, 1], 5) }
  end

  def test_bytes_that_come_one_by_one_are_a_call
    as_worker do |links|
      socket = UNIXSocket.new(File.join(@folder, "test.sock"))
      (HELLO + call_frame(7, Marshal.dump("one by one"))).each_char { |byte| socket.write(byte) && turn }
      frame = Marshal.dump([:called, "one by one"])
      expected = HELLO + [13 + frame.bytesize, 2, 7, 1].pack("VCQ<V") + frame
      received = "".b
      received << socket.readpartial(1000) while received.bytesize < expected.bytesize
      assert_equal expected, received
      socket.close
      assert_equal 0, links.open_incoming
    end
  end

  def test_a_peer_that_accepts_and_never_answers_is_a_slow_one
    path = File.join(@folder, "silent.sock")
    listener = UNIXServer.new(path)
    as_worker do |links|
      other = links.peer(path)
      8.times { call_in_time(other, 1, limited: nil) }
      assert_equal :probing, other.limiter.state
    end
  ensure
    listener&.close
  end

  # An owner that answers what was not asked, or more than was.
  def test_a_peer_that_lies_loses_its_link
    path = File.join(@folder, "liar.sock")
    listener = UNIXServer.new(path)
    liar = Thread.new do
      ["garbage", HELLO + call_frame(1, "x"), HELLO + [2, 4, 4].pack("VCC")].each do |bytes|
        socket = listener.accept
        socket.write(bytes)
        socket.read
        socket.close
      end
    end
    as_worker do |links|
      other = links.peer(path)
      3.times { assert_raises(Elah::PeerUnavailable) { once_reached { other.call(1, 5) } } }
      wait_until("it is noted") { turn && @complaints.size == 3 }
    end
    liar.join
  ensure
    listener&.close
  end

  def test_what_was_raised_there_is_raised_here
    peer = start_peer
    as_worker do |links|
      other = links.peer(peer.path)
      error = assert_raises(KeyError) { other.call([:fail, "KeyError", "mine"], 5) }
      line = __LINE__ - 1
      assert_equal ["mine", ArgumentError, "the cause"], [error.message, error.cause.class, error.cause.message]
      there, here = error.backtrace.slice_after(/worker called from/).to_a
      assert_match(/apps.peer\.rb:\d+:in `.*fail'/, there.first)
      assert_match(/#{File.basename(__FILE__)}:#{line}/, here.join("\n"))

      bad = assert_raises(Elah::BadRequest) { other.call([:fail_as_bad_request], 5) }
      assert_equal ["no such pool", 404, "no_pool"], [bad.message, bad.status, bad.code]
      partial = assert_raises(ArgumentError) { other.call([:fail_with_an_object_that_cannot_be_written], 5) }
      assert_equal ["it holds a Proc", 7, nil], [partial.message, partial.instance_variable_get(:@number), partial.instance_variable_get(:@proc)]
      remote = assert_raises(Elah::RemoteError) { other.call([:fail, "OnlyHere", "unknown"], 5) }
      assert_equal %w[OnlyHere unknown], [remote.remote_class, remote.message]
      assert_raises(NoMethodError) { other.call([:no_such_method], 5) }
      assert_raises(TypeError, "the answer cannot be written") { other.call([:a_proc], 5) }
      assert_raises(TypeError, "the message cannot be written") { other.call([:echo, -> {}], 5) }
      unknown = Marshal.dump([:echo, 1]).sub("echo", "ech\x00")
      assert_kind_of String, unknown
      assert_equal 1, other.call([:echo, 1], 5)
    end
  end

  def test_the_socket_is_private_and_goes_with_the_links
    path = File.join(@folder, "test.sock")
    as_worker do
      assert_predicate File.stat(path), :socket?
      assert_raises(Elah::ListenError) { Elah::PeerLinks.open(Elah.current_loop, path) { nil } }
      made = File.join(@folder, "a", "b", "worker.sock")
      Elah::PeerLinks.open(Elah.current_loop, made) { nil }.close
      assert_equal 0o40700, File.stat(File.dirname(made)).mode
      refute_path_exists made
      File.chmod(0o755, File.dirname(made))
      error = assert_raises(Elah::ListenError) { Elah::PeerLinks.open(Elah.current_loop, made) { nil } }
      assert_match(/mode 0700/, error.message)
      refute_path_exists made
      assert_raises(Elah::ListenError) { Elah::PeerLinks.open(Elah.current_loop, "/#{"x" * 200}/sock") { nil } }
    end
    refute_path_exists path
  end

  def test_links_to_workers_that_are_gone_are_forgotten
    peers = [start_peer, start_peer]
    as_worker(links_max: 2) do |links|
      peers.each { |peer| assert_equal 1, links.peer(peer.path).call([:echo, 1], 5) }
      assert_raises(Elah::Overloaded) { links.peer(File.join(@folder, "third.sock")).call(1, 5) }
      waiting = Elah.async { links.peer(peers[1].path).call([:wait, 60, 1], 60) }
      links.retain([peers[0].path])
      assert_raises(Elah::PeerUnavailable) { waiting.value }
      assert_equal [peers[0].path], links.to_h.keys
      assert_equal 1, links.peer(peers[0].path).call([:echo, 1], 5)
    end
  end

  private

  # A call that may be late.
  def call_in_time(peer, message, limited: :raise)
    peer.call(message, 0.05)
  rescue Elah::DeadlineExceeded
    nil
  rescue Elah::PeerLimited
    raise if limited == :raise
  end

  # Lets the loop turn.
  def turn
    Fiber.scheduler.yield
    true
  end

  def read_to_end(socket)
    socket.read
    true
  rescue Errno::ECONNRESET
    true
  end

  # Tries anew while the back-off of an earlier failure lasts.
  def once_reached
    yield
  rescue Elah::PeerUnavailable => e
    raise unless e.message.start_with?("The worker cannot be reached")

    turn
    retry
  end
end
