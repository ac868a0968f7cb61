# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# The locks of Rack's own middleware, whose critical sections wait here. Two requests meet before them.
class RackLocksTest < Minitest::Test
  APP = <<~'RUBY'
    require "rack"
    require "rack/session/pool"

    # Lets a request pass when two have come.
    class Meeting
      def initialize(app)
        @app = app
        @waiting = []
      end

      def call(env)
        if (other = @waiting.pop)
          other << :come
        else
          @waiting << (queue = Thread::Queue.new)
          queue.pop
        end
        @app.call(env)
      end
    end

    # A critical section: it notes whether two requests were in it.
    class Section
      @inside = 0

      class << self
        attr_reader :shared

        def pass
          @shared = true if (@inside += 1) > 1
          sleep(0) # the other request runs now
          @shared ? "shared" : "alone"
        ensure
          @inside -= 1
        end
      end
    end

    # As a store on one socket: an operation waits, and another one meanwhile would read its reply.
    class Store < Hash
      def [](id) = Section.pass && super
    end

    class Sessions < Rack::Session::Pool
      def initialize(...)
        super
        @pool = Store.new
      end
    end

    respond = ->(text) { [200, { "content-type" => "text/plain" }, [text.to_s]] }
    run Rack::URLMap.new(
      "/session" => Meeting.new(Sessions.new(lambda { |env|
        env["rack.session"]["seen"] = true
        respond.(Section.shared ? "shared" : "alone")
      }, key: "id")),
      "/lock" => Meeting.new(Rack::Lock.new(->(_env) { respond.(Section.pass) })),
      "/unlocked" => Meeting.new(->(_env) { respond.(Section.pass) })
    )
  RUBY

  def test_two_requests_meet_without_a_lock
    assert_includes bodies("/unlocked"), "shared"
  end

  # `rack.multithread` was false, so the pool of Rack 2 did not lock: users got the sessions of others.
  def test_a_session_pool_lets_one_in
    assert_equal %w[alone alone], bodies("/session")
  end

  def test_rack_lock_lets_one_in
    assert_equal %w[alone alone], bodies("/lock")
  end

  private

  # @return [Array<String>] of two requests at once
  def bodies(path)
    ElahServer.start(APP, extension: ".ru") do |server|
      clients = Array.new(2) { server.connect.write("GET #{path} HTTP/1.1\r\nHost: a\r\nCookie: id=known\r\n\r\n") }
      clients.map { |client| client.read_answer.body }
    ensure
      clients&.each(&:close)
    end
  end
end
