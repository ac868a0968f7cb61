# frozen_string_literal: true

require "test_helper"
require "support/elah_server"
require "support/patience"

# What a client that leaves does to a Rack app. It cancelled the app where it waited, and an app's own `rescue => e`
# took that for a failed call: the fallback of one client was cached, and sent to all others.
class RackCancellationTest < Minitest::Test
  include Patience

  APP = <<~'RUBY'
    cache = {}
    notes = []
    release = Thread::Queue.new
    call = lambda do
      notes << "begun"
      release.pop
      "real"
    rescue => e
      notes << e.class
      "fallback"
    ensure
      notes << "ended"
    end
    ticks = Enumerator.new do |body|
      body << "tick"
      sleep
    ensure
      notes << "stream ended"
    end
    run lambda { |env|
      text = case env["PATH_INFO"]
             when "/rates" then cache[:rates] ||= call.call
             when "/release" then (release << 1) && "released"
             when "/notes" then notes.join(",")
             end
      [200, { "content-type" => "text/plain" }, text ? [text] : ticks]
    }
  RUBY

  # The log of requests once made of it an app that is cancelled.
  [false, true].each do |log_requests|
    define_method(:"test_an_app_is_not_cancelled_when_its_client_leaves_with_log_requests_#{log_requests}") do
      start(log_requests: log_requests) { |server| assert_not_cancelled(server) }
    end
  end

  def test_a_response_that_has_begun_ends_with_its_client
    start do |server|
      leave(server, "/ticks", &:read_head)
      wait_until("the stream has ended") { notes(server) == "stream ended" }
    end
  end

  def test_the_option_cancels_an_app_too
    start(cancel_gone: "safe") do |server|
      leave(server, "/rates") { wait_until("it runs") { notes(server) == "begun" } }
      wait_until("it is cancelled") { notes(server) == "begun,Elah::ClientGone,ended" }
    end
  end

  private

  def assert_not_cancelled(server)
    leave(server, "/rates") { wait_until("it runs") { notes(server) == "begun" } }
    leave(server, "/ticks", &:read_head)
    wait_until("the server has noticed who left") { notes(server).end_with?("stream ended") }
    server.get("/release")
    assert_equal "real", server.get("/rates").body
    assert_equal "begun,stream ended,ended", notes(server)
  end

  def start(**options, &block) = ElahServer.start(APP, extension: ".ru", **options, &block)

  def notes(server) = server.get("/notes").body

  # Sends a request, and resets its connection after the block.
  def leave(server, path)
    client = server.connect.write("GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n")
    yield client
    client.socket.setsockopt(Socket::Option.linger(true, 0))
    client.close
  end
end
