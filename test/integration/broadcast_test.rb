# frozen_string_literal: true

# Broadcasts over real sockets: who listens is told, at the price of no fiber; who is slow, gone or late harms nobody.
require "test_helper"
require "support/elah_server"
require "support/listener"
require "support/patience"
require "support/process_memory"
require "uri"

class BroadcastTest < Minitest::Test
  include Patience

  APP = <<~'RUBY'
    NEWS = Elah::Broadcast.new(keepalive_seconds: 0.05)
    QUOTES = Elah::Broadcast.new(keeps_last: true)
    BEATS = Elah::Broadcast.new(keepalive_seconds: 0.3)

    class App < Elah::API
      format :json
      get(:news) { broadcast NEWS }
      get(:quotes) { broadcast QUOTES }
      get(:beats) { broadcast BEATS }
      post(:beats) { BEATS.push("beat"); "" }
      post(:news) { NEWS.push(params[:text], event: "news", id: params[:id]); "" }
      post(:in_a_thread) { Thread.new { NEWS.push("from a thread") }.join; "" }
      post(:quotes) { QUOTES.push({ quote: params[:text] }); "" }
      post(:close) { NEWS.close; "" }
      post(:flood) { 200.times { |n| NEWS.push("x" * 100_000, id: n) }; "" }
      get(:seen) { NEWS.push("count"); { listeners: NEWS.listeners, missed: NEWS.missed } }
    end
    run App
  RUBY

  def say(server, text, **more) = server.request("POST", "/news?#{URI.encode_www_form(text: text, **more)}")

  def test_all_who_listen_are_told_and_an_idle_stream_is_kept_open
    ElahServer.start(APP) do |server|
      listeners = Array.new(3) { Listener.new(server) }
      assert_equal ["text/event-stream", "no-cache"],
                   listeners.first.head.headers.values_at("content-type", "cache-control")
      listeners.each { |listener| listener.read_until(": keep-alive\n\n") }
      say(server, "one\ntwo", id: 7)
      listeners.each { |listener| listener.read_until("id: 7\nevent: news\ndata: one\ndata: two\n\n") }
      server.request("POST", "/in_a_thread")
      listeners.each { |listener| listener.read_until("data: from a thread\n\n") }
      assert_equal 3, server.get("/seen").json["listeners"]
    end
  end

  # The silence after an event was up to twice that time. One attempt in time is enough on a busy machine.
  def test_a_comment_comes_in_time_after_an_event
    ElahServer.start(APP) do |server|
      listener = Listener.new(server, "/beats")
      silences = Array.new(10).lazy.map { listener.silence_after { server.request("POST", "/beats") } }
      assert(silences.any? { |seconds| seconds < 0.45 })
    end
  end

  # All but one of those who came before the first event, in one iteration of the loop, were told nothing for ever.
  def test_the_first_listeners_come_at_once_and_are_told
    ElahServer.start(APP) do |server|
      clients = Array.new(20) { server.connect }
      server.signal(:STOP)
      clients.each { |client| client.write("GET /news HTTP/1.1\r\nHost: a\r\n\r\n") }
      server.signal(:CONT)
      clients.each(&:read_head)
      assert_equal 20, server.get("/seen").json["listeners"]
    end
  end

  def test_who_comes_late_is_told_the_last_event_if_it_is_kept
    ElahServer.start(APP) do |server|
      server.request("POST", "/quotes?text=12")
      Listener.new(server, "/quotes").read_until("data: {\"quote\":\"12\"}\n\n")
    end
  end

  def test_who_has_gone_is_forgotten
    ElahServer.start(APP) do |server|
      listeners = Array.new(4) { Listener.new(server) }
      listeners.first(3).each { |listener| listener.client.close }
      wait_until("one is left") { server.get("/seen").json["listeners"] == 1 }
      say(server, "still")
      listeners.last.read_until("data: still")
    end
  end

  # A listener that does not read misses events and costs no more than its bound; the others are told all the same.
  def test_a_slow_listener_delays_nobody
    ElahServer.start(APP, write_seconds: 60) do |server|
      slow = Listener.new(server)
      listener = Listener.new(server)
      before = ProcessMemory.resident_bytes(server.pid)
      3.times do
        server.request("POST", "/flood")
        listener.read_until("id: 0\n")
      end
      wait_until("it misses events") { server.get("/seen").json["missed"].positive? }
      assert_operator ProcessMemory.resident_bytes(server.pid) - before, :<, 100_000_000
      say(server, "after", id: "end")
      listener.read_until("data: after")
      slow.client.close
    end
  end

  def test_a_listener_that_takes_nothing_for_too_long_is_let_go
    ElahServer.start(APP, write_seconds: 0.2) do |server|
      slow = Listener.new(server)
      wait_until("it is gone") do
        server.request("POST", "/flood")
        server.get("/seen").json["listeners"].zero?
      end
      slow.client.close
    end
  end

  def test_the_streams_end_with_a_drain_and_when_the_broadcast_is_closed
    ElahServer.start(APP) do |server|
      listener = Listener.new(server)
      say(server, "last")
      server.request("POST", "/close")
      assert_match(/data: last/, listener.read_until("last"))
      assert_nil read_to_the_end(listener)
      listener = Listener.new(server)
      say(server, "again")
      listener.read_until("again")
      server.signal(:TERM)
      assert_nil read_to_the_end(listener)
      server.wait_until_ended
    end
  end

  # Listeners are no requests that run: they take no fiber, and none of the places for requests.
  def test_five_hundred_listeners_on_few_fibers
    ElahServer.start(APP, fibers_max: 4, queue_max: 4) do |server|
      listeners = Array.new(500) { Listener.new(server) }
      say(server, "to all")
      listeners.each { |listener| listener.read_until("data: to all") }
      assert_equal 500, server.get("/seen").json["listeners"]
    end
  end

  private

  # @return [nil] when the stream was ended as it should
  def read_to_the_end(listener)
    nil until listener.client.read_chunk.empty?
  end
end
