# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/http_client"
require "open3"

# `rackup -s elah`, with the Rack that is installed.
class RackHandlerTest < Minitest::Test
  APP = File.expand_path("../support/apps/rack_env.ru", __dir__)
  LIB = File.expand_path("../../lib", __dir__)

  def test_rackup_serves_an_app
    rackup("-p", "0") do |url|
      answer = HttpClient.open(url) { |client| client.get("/x?y") }
      assert_equal 200, answer.status
      assert_equal "/x", load(answer)["PATH_INFO"]
    end
  end

  def test_options_of_elah_follow_O
    rackup("-p", "0", "-O", "uri_bytes_max=64") do |url|
      assert_equal 414, HttpClient.open(url) { |client| client.get("/#{'x' * 100}") }.status
    end
  end

  def test_a_wrong_option_names_the_range
    output, status = Open3.capture2e("rackup", "-I", LIB, "-s", "elah", "-p", "0", "-O", "queue_max=many", APP)
    refute_predicate status, :success?
    assert_match(/queue_max/, output)
  end

  private

  def load(answer) = Marshal.load(answer.body)

  # Yields the address of a server, and ends it by TERM.
  def rackup(*arguments)
    Open3.popen2e("rackup", "-I", LIB, "-s", "elah", *arguments, APP) do |_, output, process|
      line = output.each_line.find { |text| text.include?("listening on") } or flunk "rackup ended"
      yield line[%r{tcp://\S+}]
      Process.kill(:TERM, process.pid)
      assert_predicate process.value, :success?, output.read
    end
  end
end
