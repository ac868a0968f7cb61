# frozen_string_literal: true

require_relative "../../../test/test_helper"
require "elah/api"
require "support/chromium"
require "support/elah_server"
require "support/patience"
require_relative "../service"
require_relative "../live/workers"

# The live page: its sums, its stream, and its look in a browser.
class StatsLiveTest < Minitest::Test
  include Patience

  APP = File.expand_path("../app.rb", __dir__)

  def figures(rate, paths, latency, second)
    { "rate" => rate, "per_second" => [0, second], "paths" => paths, "latency_us" => latency }
  end

  def test_the_workers_are_added_up
    sum = Stats::Live::Workers.sum([figures(1.5, { "/a" => 2, "/b" => 1 }, { "50" => 1, "more" => 0 }, 3),
                                    figures(2.0, { "/a" => 3, "/c" => 9 }, { "50" => 2, "more" => 1 }, 4)])
    assert_equal({ "workers" => 2, "rate" => 3.5, "per_second" => [0, 7],
                   "paths" => { "/c" => 9, "/a" => 5, "/b" => 1 }, "latency_us" => { "50" => 3, "more" => 1 } }, sum)
  end

  def test_a_silent_worker_no_longer_counts
    workers = Stats::Live::Workers.allocate.tap(&:restore)
    workers.exchange("one", figures(1.0, {}, {}, 0), 10.0)
    assert_equal 2, workers.exchange("two", figures(1.0, {}, {}, 0), 11.0)["workers"]
    assert_equal 1, workers.exchange("two", figures(1.0, {}, {}, 0), 17.0)["workers"]
  end

  # A listener gets the events of every worker, whichever it is connected to.
  def test_the_stream_reports_all_workers
    ElahServer.start(APP, workers: 2) do |server|
      20.times { |n| server.get("/stats?path=/p#{n % 2}") }
      tick = first_tick(server) do |found|
        found["workers"] == 2 && found["paths"].values.sum == 20 && found.dig("sink", "total", "accepted") == 20
      end
      assert_equal({ "/p0" => 10, "/p1" => 10 }, tick["paths"])
      assert_equal [true, true], [tick["sink"]["holds"], tick["sink"]["destination"]["ok"]]
      assert_operator tick["latency_us"].values.sum, :<=, 20
    end
  end

  def test_the_files_have_a_strict_policy_and_name_no_other_host
    ElahServer.start(APP) do |server|
      %w[/stats/live /stats/live/page.css /stats/live/page.js].each do |path|
        answer = server.get(path)
        assert_equal 200, answer.status
        policy = answer["content-security-policy"]
        assert_match(/\Adefault-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/, policy)
        refute_match(/unsafe|\*/, policy)
        assert_equal "nosniff", answer["x-content-type-options"]
        refute_match(%r{(src|href|url)\W{1,2}(https?:)?//}, answer.body)
        refute_match(/<style|style=|<script>|\son\w+=/, answer.body) if path == "/stats/live"
      end
    end
  end

  def test_with_a_key_the_browser_asks_for_it
    ElahServer.start(APP, arguments: ["--set", "stats_api_key=secret"]) do |server|
      ["", "/page.js", "/events"].each do |path|
        answer = server.get("/stats/live#{path}")
        assert_equal 401, answer.status
        assert_match(/\ABasic realm=/, answer["www-authenticate"])
        assert_equal 401, server.get("/stats/live#{path}", headers: { "Authorization" => basic("wrong") }).status
      end
      assert_equal 200, server.get("/stats/live", headers: { "Authorization" => basic("secret") }).status
      assert_equal 200, server.get("/stats/live", headers: { "Authorization" => "Bearer secret" }).status
    end
  end

  def test_it_shows_events_in_a_browser_and_reconnects_to_the_server
    data = Dir.mktmpdir("elah-live")
    server = ElahServer.start(APP, data: data)
    Chromium.open do |browser|
      browser.visit("#{server.http_url}/stats/live")
      3.times { server.get("/stats?path=/pricing", headers: { "Prefer" => "durability=disk" }) }
      shown(browser, "paths", /pricing3/)
      shown(browser, "state", /\Alive\z/)
      shown(browser, "accepted", /\A3\z/)
      shown(browser, "holds", /\Aholds\z/)
      assert_match(/1 worker/, browser.text("workers"))
      drawn = "document.querySelectorAll('#line, #area, #latency rect:first-child, #journal')"
      assert_equal 4, browser.evaluate("#{drawn}.length")
      assert_empty browser.complaints

      url = server.url
      server.stop
      shown(browser, "state", /no connection/)
      server = ElahServer.start(APP, data: data, bind: url)
      shown(browser, "state", /\Alive\z/)
      look(browser, server)
    end
  ensure
    server&.kill
    FileUtils.rm_rf(data)
  end

  private

  def basic(password) = "Basic #{["user:#{password}"].pack('m0')}"

  def shown(browser, id, pattern)
    wait_until("#{id} shows #{pattern.inspect}, not #{browser.text(id).inspect}") { pattern.match?(browser.text(id)) }
  end

  # Nothing overflows the page, wide or narrow. Screenshots are kept in the folder SCREENSHOTS.
  def look(browser, server)
    [[1200, false], [1200, true], [390, false], [390, true]].each do |width, dark|
      browser.visit("#{server.http_url}/stats/live", width: width, dark: dark)
      shown(browser, "accepted", /\d/)
      assert_operator browser.evaluate("document.documentElement.scrollWidth"), :<=, width
      next unless ENV["SCREENSHOTS"]

      File.binwrite(File.join(ENV["SCREENSHOTS"], "live-#{width}#{'-dark' if dark}.png"), browser.screenshot)
    end
  end

  def first_tick(server)
    server.connect(seconds: 60) do |client|
      client.write("GET /stats/live/events HTTP/1.1\r\nHost: test\r\n\r\n")
      assert_equal 200, client.read_head.status
      text = +""
      loop do
        text << client.read_chunk
        while (event = text.slice!(/\A.*?\n\n/m))
          data = event[/^data: (.*)/, 1] or next
          tick = JSON.parse(data)
          return tick if yield(tick)
        end
      end
    end
  end
end
