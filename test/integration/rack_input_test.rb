# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require "elah/rack/input"

# `rack.input`: absent, in memory, and spooled to disk.
class RackInputTest < Minitest::Test
  APP = File.expand_path("../support/apps/rack_input.ru", __dir__)

  @server = ElahServer.start(APP, body_memory_bytes: 4096)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  def test_a_request_without_a_body
    input = input_of("/", nil)
    assert_equal({ "class" => "Elah::Rack::EmptyInput", "bytes" => 0, "encoding" => "ASCII-8BIT",
                   "read_at_end" => nil, "read_all_at_end" => "", "buffer" => "", "rest" => 0,
                   "gets" => nil, "each" => [], "zero" => "" }, input)
  end

  # Lint returns what `each` of the input does.
  def test_the_input_of_a_request_without_a_body_is_enumerable_as_others_are
    assert_equal [[], []], [Elah::Rack::EmptyInput.new.each { flunk }.to_a, Elah::Rack::EmptyInput.new.to_a]
  end

  def test_a_body_in_memory
    input = input_of("/", "one\ntwo\n")
    assert_equal({ "class" => "StringIO", "bytes" => 8, "encoding" => "ASCII-8BIT",
                   "read_at_end" => nil, "read_all_at_end" => "", "buffer" => "one", "rest" => 5,
                   "gets" => "one\n", "each" => [4, 4], "zero" => "" }, input)
  end

  def test_a_body_in_a_file
    input = input_of("/", "one\n#{'x' * 50_000}")
    assert_equal({ "class" => "Elah::Rack::SpooledInput", "bytes" => 50_004, "encoding" => "ASCII-8BIT",
                   "read_at_end" => nil, "read_all_at_end" => "", "buffer" => "one", "rest" => 50_001,
                   "gets" => "one\n", "each" => [4, 50_000], "zero" => "" }, input)
  end

  def test_lint_agrees
    [nil, "one\ntwo\n", "one\n#{'x' * 50_000}"].each do |body|
      assert_equal body.to_s.bytesize, input_of("/lint", body)["bytes"]
    end
  end

  def test_a_chunked_body_is_spooled_too
    self.class.server.connect do |client|
      client.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
      10.times { client.write("400\r\n#{'y' * 1024}\r\n") }
      assert_equal ["Elah::Rack::SpooledInput", 10_240],
                   client.write("0\r\n\r\n").read_answer.json.values_at("class", "bytes")
    end
  end

  def test_a_client_that_waits_for_100_continue_gets_it
    self.class.server.connect do |client|
      client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
      assert_equal 100, client.read_answer.status
      assert_equal 5, client.write("hello").read_answer.json["bytes"]
    end
  end

  def test_the_input_may_be_the_body_of_the_answer
    ["", "echo", "z" * 50_000].each do |body|
      2.times { assert self.class.server.request("POST", "/body", body: body).body == body, "#{body.bytesize} bytes" }
    end
  end

  def test_closing_the_input_of_one_request_harms_no_other
    [nil, "body", "z" * 50_000].each do |body|
      assert_equal 200, self.class.server.request("POST", "/closed", body: body).status
    end
    assert_equal 0, input_of("/", nil)["bytes"]
  end

  def test_spooled_files_are_closed_with_the_answer
    inherited = self.class.server.get("/descriptors").body
    5.times { input_of("/", "x" * 50_000) }
    assert_equal inherited, self.class.server.get("/descriptors").body
  end

  private

  def input_of(path, body) = self.class.server.request("POST", path, body: body).json
end
