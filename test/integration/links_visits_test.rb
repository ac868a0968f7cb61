# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/links_server"

# Visits of the shortener under concurrency and sudden death: a limit is never passed, a served redirect is never
# forgotten.
class LinksVisitsTest < Minitest::Test
  CLIENTS = 200
  VISITORS = 16

  def test_two_hundred_clients_get_fifty_redirects_of_a_link_for_fifty
    LinksServer.start do |server|
      code = server.create(max_visits: 50).fetch("code")
      statuses = at_once(server.url, CLIENTS) { |client| client.get("/#{code}").status }
      assert_equal({ 302 => 50, 410 => 150 }, statuses.tally)
      assert_equal 50, server.visits(code)
      server.kill_and_restart
      assert_equal 410, server.get("/#{code}").status
      assert_equal 50, server.visits(code)
    end
  end

  def test_a_limited_link_redirects_no_more_often_for_being_killed
    LinksServer.start do |server|
      code = server.create(max_visits: 900).fetch("code")
      served = 3.times.sum { visit_until_killed(server, code, kill_after: 100) }
      counted = server.visits(code)
      assert_includes served..(served + (3 * VISITORS)), counted
      rest = at_once(server.url, VISITORS) { |client| redirects_until_refused(client, code) }.sum
      assert_equal 900, counted + rest
      assert_equal 900, server.visits(code)
    end
  end

  def test_every_redirect_that_was_served_is_counted_though_the_process_is_killed
    LinksServer.start do |server|
      code = server.create.fetch("code")
      served = 0
      3.times do
        served += visit_until_killed(server, code, kill_after: 2000)
        assert_includes served..(served + VISITORS), server.visits(code)
        served = server.visits(code)
      end
      assert_operator served, :>=, 6000
    end
  end

  def test_visitors_that_break_off_are_cancelled_and_no_limit_is_passed
    LinksServer.start do |server|
      code = server.create(max_visits: 60).fetch("code")
      40.times { break_off(server.url, "GET /#{code} HTTP/1.1\r\nHost: a\r\n\r\n") }
      served = at_once(server.url, 20) { |client| redirects_until_refused(client, code) }.sum
      assert_includes 20..60, served
      assert_equal 60, server.visits(code)
    end
  end

  # Of a link that is ordered by somebody who breaks off there is all or nothing.
  def test_orders_whose_clients_break_off_leave_whole_links
    LinksServer.start do |server|
      codes = Array.new(40) { |index| "broken#{index}" }
      codes.each do |code|
        body = JSON.generate(target: "https://example.com/#{code}", code: code)
        break_off(server.url, "POST /links HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" \
                              "Content-Length: #{body.bytesize}\r\n\r\n#{body}")
      end
      there = codes.select { |code| server.get("/#{code}").status == 302 }
      assert_equal there, there.select { |code| server.get("/links/#{code}").status == 200 }
      # The server may still be at some of the others, so that they come meanwhile.
      again = codes.map { |code| server.post("/links", { target: "https://example.com/#{code}", code: code }).status }
      assert_equal [], again - [201, 409]
      assert_equal codes, codes.select { |code| server.get("/#{code}").status == 302 }
    end
  end

  def test_counts_stay_exact_when_nothing_is_killed
    LinksServer.start do |server|
      codes = Array.new(5) { server.create.fetch("code") }
      at_once(server.url, 20) { |client| codes.each { |code| 10.times { client.get("/#{code}") } } }
      assert_equal [200] * 5, codes.map { |code| server.visits(code) }
    end
  end

  private

  # Opens all connections first, then lets every client go at the same moment.
  def at_once(url, count)
    gate = Queue.new
    clients = Array.new(count) do
      Thread.new { HttpClient.open(url) { |client| gate.pop && yield(client) } }
    end
    count.times { gate << true }
    clients.map(&:value)
  end

  # Sends a request and resets the connection, somewhere before or after the answer.
  def break_off(url, request)
    HttpClient.open(url) do |client|
      client.write(request)
      client.socket.wait_readable(rand * 0.002)
      client.socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
    end
  end

  # Visits from several connections, and kills the process in the midst of it.
  #
  # @return [Integer] redirects that were served
  def visit_until_killed(server, code, kill_after:)
    served = Queue.new
    clients = Array.new(VISITORS) { Thread.new { visit_while_it_answers(server.url, code, served) } }
    kill_after.times { served.pop }
    server.kill_and_restart
    clients.each(&:join)
    kill_after + served.size
  end

  def redirects_until_refused(client, code)
    count = 0
    count += 1 while client.get("/#{code}").status == 302
    count
  end

  def visit_while_it_answers(url, code, served)
    HttpClient.open(url) do |client|
      while client.get("/#{code}").status == 302 do served << true end
    end
  rescue HttpClient::Closed, SystemCallError
    nil
  end
end
