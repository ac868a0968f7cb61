# frozen_string_literal: true

# The body of a request as the handlers of an Elah::API read it: in memory and spooled, whole and in pieces.
require "test_helper"
require "support/elah_server"
require "support/patience"

class RequestBodyTest < Minitest::Test
  include Patience

  MEMORY_BYTES = 4096
  # In memory, at the bound, in a file of less than a piece, and in one of several pieces.
  SIZES = [0, 1, MEMORY_BYTES, MEMORY_BYTES + 1, 200_000].freeze
  LETTERS = ("a".."i")
  FORM = "application/x-www-form-urlencoded"

  APP = <<~RUBY
    class Bodies < Elah::API
      helpers do
        def pieces = [].tap { |pieces| request.each_body_chunk { |piece| pieces << piece.bytesize } }
      end
      post(:pieces) { [pieces.sum, request.body.bytesize, pieces.sum].join(" ") }
      post("raw", raw: true) { request.respond(200, {}, pieces.sum.to_s) }
      post(:late, late_body: true) { pieces.sum.to_s }
      post(:input) do
        start = env["rack.input"].read(2)
        pieces
        [start, request.body.bytesize, pieces.sum, env["rack.input"].read.bytesize].join(" ")
      end
      post(:changed) do
        bytes = 0
        request.each_body_chunk { |piece| (bytes += piece.bytesize) && piece.clear }
        bytes.to_s
      end
      post(:again, stream_body: true) do
        [-> { request.body }, -> { request.body }, -> { request.each_body_chunk { next } }].map do |read|
          read.call.class
        rescue Elah::BadRequest => e
          e.code
        end.join(" ")
      end
      post(:together, stream_body: true) do
        reads = [-> { request.body.bytesize }, -> { request.body.bytesize }, -> { pieces.sum }]
        reads.map { |read| Elah.async(&read) }.map(&:value).join(" ")
      end
      post(:given_up, stream_body: true) do
        Elah.timeout(0.01) { request.body }
      rescue Elah::DeadlineExceeded
        $given_up = true
        request.body
      end
      get(:given_up) { $given_up.to_s }
      post(:env) { request.env["HTTP_HOST"] }
      get(:spooled) do
        Dir["/proc/self/fd/*"].count { |file| File.readlink(file).include?("(deleted)") rescue false }.to_s
      end
      namespace :hooked do
        before { @user = env["HTTP_X_USER"] }
        post(:form) { params["a"].bytesize.to_s }
        post(:file) { params["file"]["tempfile"].size.to_s }
        post(:body) { request.body.bytesize.to_s }
        post(:streamed, stream_body: true) { pieces.join(" ") }
        post(:streamed_input, stream_body: true) do
          [env["rack.input"].read(2), env["rack.input"].read.bytesize, env["rack.input"].read(1)].inspect
        end
      end
    end
    run Bodies
  RUBY

  @server = ElahServer.start(APP, body_memory_bytes: MEMORY_BYTES)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  # A route without `stream_body:` got no piece of a spooled body, which was gone then: an upload was stored as nothing,
  # and confirmed.
  def test_pieces_are_of_the_whole_body
    SIZES.each do |bytes|
      assert_equal "#{bytes} #{bytes} #{bytes}", post("/pieces", "x" * bytes)
      assert_equal bytes.to_s, post("/raw", "x" * bytes)
      assert_equal bytes.to_s, post("/late", "x" * bytes)
    end
  end

  # The environment took the file of a spooled body away: after `before { env["HTTP_..."] }` parameters and uploads were
  # missing.
  def test_the_environment_leaves_the_body_in_place
    SIZES.drop(1).each do |bytes|
      assert_equal bytes.to_s, post("/hooked/body", "x" * bytes)
      assert_equal bytes.to_s, post("/hooked/form", "a=#{'x' * bytes}", FORM)
      assert_equal bytes.to_s, post("/hooked/file", upload("x" * bytes), "multipart/form-data; boundary=b")
    end
  end

  def test_the_input_and_the_body_are_read_apart
    SIZES.drop(2).each do |bytes|
      assert_equal "xx #{bytes} #{bytes} #{bytes - 2}", post("/input", "x" * bytes)
    end
  end

  # The next piece was sought behind the changed one: a block that cleared its pieces got the first one for ever: its
  # worker stood still.
  def test_the_block_may_change_its_piece
    SIZES.each { |bytes| assert_equal bytes.to_s, post("/changed", "x" * bytes) }
  end

  # Who read again after the error got the part as the whole.
  def test_a_body_that_its_client_broke_off_stays_so
    self.class.server.connect do |client|
      client.write("POST /again HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf").socket.shutdown(Socket::SHUT_WR)
      assert_equal (["incomplete_body"] * 3).join(" "), client.read_answer.body
    end
  end

  # Each of them got some of the pieces, and one that waited for pieces meanwhile none.
  def test_several_fibers_read_the_whole_of_a_streamed_body
    assert_equal "9000 9000 9000", in_pieces("/together")
  end

  def test_a_read_that_was_given_up_begins_again
    whole = in_pieces("/given_up") do |letter|
      wait_until("it gave up") { self.class.server.get("/given_up").body == "true" } if letter == "d"
    end
    assert_equal LETTERS.map { |letter| letter * 1000 }.join, whole
  end

  # The environment read the whole body before the handler began: 300 MB took 1.4 GB of memory.
  def test_the_environment_leaves_a_streamed_body_to_the_handler
    pieces = post("/hooked/streamed", "x" * 2_000_000).split.map(&:to_i)
    assert_equal 2_000_000, pieces.sum
    assert_operator pieces.max, :<, 1_000_000
  end

  def test_the_input_of_a_streamed_body_is_read_on_demand
    assert_equal ["xx", 199_998, nil].inspect, post("/hooked/streamed_input", "x" * 200_000)
  end

  # `request.env` left them to the garbage collector, which never ran when all uploads were refused at the limit.
  def test_files_are_closed_with_the_request
    before = spooled
    8.times { %w[/hooked/body /env].each { |path| post(path, "x" * 200_000) } }
    wait_until("the files are closed") { spooled == before }
  end

  private

  def spooled = self.class.server.get("/spooled").body

  def post(path, body, type = "application/octet-stream")
    self.class.server.request("POST", path, body: body, headers: { "content-type" => type }).body
  end

  def in_pieces(path)
    self.class.server.connect do |client|
      client.write("POST #{path} HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n")
      LETTERS.each do |letter|
        client.write(letter * 1000)
        self.class.server.get("/spooled") # after the piece has been read
        yield letter if block_given?
      end
      client.read_answer.body
    end
  end

  def upload(content)
    "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n#{content}\r\n--b--\r\n"
  end
end
