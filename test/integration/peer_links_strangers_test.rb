# frozen_string_literal: true

require "test_helper"
require "elah/entity/peer_links"
require "socket"
require "support/peer_links_case"

# What becomes of a link whose other end is no worker, or lies.
class PeerLinksStrangersTest < PeerLinksCase
  def test_garbage_closes_the_link_alone
    peer = start_peer
    as_worker do |links|
      own = File.join(@folder, "test.sock")
      { "GET / HTTP/1.1\r\nHost: x\r\n\r\n" => /frame of \d+ bytes/,
        "\xFF\xFF\xFF\xFF" => /frame of 4294967295 bytes/,
        "\x09\x00\x00\x00\x04\x01\x00\x00\x00\x00\x00\x00\x00" => /did not begin as a link/,
        HELLO.dup.tap { |hello| hello.setbyte(13, 99) } => /speaks version 99/,
        HELLO + HELLO => /hello twice/,
        HELLO + "\x0D\x00\x00\x00\x02" + "\x00" * 12 => /without items/,
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
      greeting = random.rand(2).zero? ? "" : HELLO
      socket.write(greeting + random.bytes(random.rand(1..3000)))
      socket.close
    rescue Errno::EPIPE, Errno::ECONNRESET, Errno::ENOTCONN
      nil # it has closed already
    end
    as_worker { |links| assert_equal 1, links.peer(peer.path).call([:echo, 1], 5) }
  end

  # It speaks the earlier version, too: workers are replaced one by one.
  def test_a_worker_of_the_next_version_is_served
    as_worker do
      socket = UNIXSocket.new(File.join(@folder, "test.sock"))
      next_version = HELLO.dup.tap { |hello| hello.setbyte(13, HELLO.getbyte(13) + 1) }
      socket.write(next_version + call_frame(7, Marshal.dump("newer")))
      received = "".b
      wait_until("it has a reply") do
        turn
        received << socket.read_nonblock(1000, exception: false).to_s
        received.include?("newer")
      end
      assert_empty @complaints
      socket.close
    end
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

  # Two hundred connections that nobody had accepted yet made the next call fail at once, though the worker was there.
  def test_a_worker_whose_backlog_is_full_is_reached_once_it_accepts
    path = File.join(@folder, "behind.sock")
    listener = UNIXServer.new(path)
    listener.listen(0)
    waiting = fill_backlog(path)
    answering = nil
    as_worker do |links|
      call = Elah.async { links.peer(path).call("late", 60) }
      20.times { turn } # by then it has been tried
      answering = Thread.new { answer_one_call(listener, waiting.size) }
      assert_equal "so late", call.value
    end
    answering.join
  ensure
    waiting&.each(&:close)
    listener&.close
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

  private

  # @return [Array<Socket>] connections that nobody accepts; the next is refused
  def fill_backlog(path)
    connections = []
    loop do
      socket = Socket.new(:UNIX, :STREAM)
      socket.connect_nonblock(Socket.sockaddr_un(path))
      connections << socket
    rescue Errno::EAGAIN
      socket.close
      return connections
    end
  end

  # Accepts what waits, and answers the call that comes after it.
  def answer_one_call(listener, count)
    count.times { listener.accept.close }
    socket = listener.accept
    socket.read(HELLO.bytesize)
    id = socket.read(25).unpack1("@5Q<")
    payload = Marshal.dump("so late")
    socket.write(HELLO + [13 + payload.bytesize, 2, id, 1].pack("VCQ<V") + payload)
    socket.read
    socket.close
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
