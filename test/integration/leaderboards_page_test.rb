# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/chromium"
require_relative "../support/leaderboards_server"
require_relative "../support/patience"

# The page that follows a leaderboard, in a browser.
class LeaderboardsPageTest < Minitest::Test
  include Patience

  LONG = "x" * 200

  def test_it_follows_the_board_and_comes_back_when_the_server_does
    data = Dir.mktmpdir("elah-page")
    server = ElahServer.start(LeaderboardsServer::APP, data: data)
    board = create(server)
    Chromium.open do |browser|
      browser.visit("#{server.http_url}#{board}/live")
      shown(browser, "members", /\ANo member has a score yet\.\z/)
      shown(browser, "name", /\APoints\z/)
      submit(server, board, "ann", 120)
      shown(browser, "members", /\A1ann120\z/)
      submit(server, board, LONG, 130)
      shown(browser, "members", /\A1#{LONG}1302ann120\z/)
      shown(browser, "size", /\A2 members, season 1\z/)
      shown(browser, "state", /\Alive\z/)
      assert_empty browser.complaints

      url = server.url
      server.stop
      shown(browser, "state", /\Ano connection\z/)
      server = ElahServer.start(LeaderboardsServer::APP, data: data, bind: url)
      shown(browser, "state", /\Alive\z/)
      look(browser, "#{server.http_url}#{board}/live")
    end
  ensure
    server&.kill
    FileUtils.rm_rf(data)
  end

  # Scores of a phone's page were cut short, and those above 2^53 were rounded.
  def test_on_a_phone_scores_are_whole
    server = ElahServer.start(LeaderboardsServer::APP)
    board = create(server)
    cents = create(server, decimals: 2)
    parts = create(server, order: %w[desc asc])
    submit(server, board, "Maximiliane Featherstonehaugh", 9_223_372_036_854_775_807)
    submit(server, board, "bob", -1_234_567)
    22.times { |number| submit(server, board, "m#{number}", number) }
    submit(server, cents, "ann", "-1234567.05")
    submit(server, parts, "ann", [9_223_372_036_854_775, 123_456])
    Chromium.open do |browser|
      [[320, false], [320, true], [390, false]].each do |width, dark|
        { board => ["9,223,372,036,854,775,807", "the first 20 of 24 members, season 1"],
          cents => ["-1,234,567.05", "1 member, season 1"],
          parts => ["9,223,372,036,854,775 / 123,456", "1 member, season 1"] }.each do |path, (score, size)|
          browser.visit("#{server.http_url}#{path}/live", width: width, dark: dark)
          shown(browser, "size", /\A#{size}\z/)
          assert_equal score, browser.evaluate("document.querySelector('td:last-child').textContent")
          assert_operator browser.evaluate("document.documentElement.scrollWidth"), :<=, width
          assert_empty browser.evaluate("[...document.querySelectorAll('td.number, td.number span')]" \
                                        ".filter((cell) => cell.scrollWidth > cell.clientWidth)" \
                                        ".map((cell) => cell.textContent)")
          assert_operator browser.evaluate("document.querySelector('td.member').clientWidth"), :>=, 60
          keep(browser, "phone-#{path.tr('/', '-')}-#{width}#{'-dark' if dark}")
        end
      end
      assert_empty browser.complaints
    end
  ensure
    server&.kill
  end

  def test_where_there_is_no_leaderboard_a_browser_gets_a_page_and_others_a_problem_document
    server = ElahServer.start(LeaderboardsServer::APP)
    assert_equal "leaderboard_not_found", server.request("GET", "/leaderboards/9/live").json["code"]
    answer = server.request("GET", "/leaderboards/9/live", headers: { "Accept" => "text/html,*/*;q=0.8" })
    assert_equal [404, "text/html; charset=utf-8", "no-store", "accept"],
                 [answer.status, *answer.headers.values_at("content-type", "cache-control", "vary").flatten]
    Chromium.open do |browser|
      [[320, false], [390, true], [1200, false]].each do |width, dark|
        browser.visit("#{server.http_url}/leaderboards/9/live", width: width, dark: dark)
        wait_until("the page is there") { browser.evaluate("document.title") == "There is no such leaderboard" }
        assert_operator browser.evaluate("document.documentElement.scrollWidth"), :<=, width
        assert_equal dark ? "rgb(20, 23, 27)" : "rgb(246, 246, 243)",
                     browser.evaluate("getComputedStyle(document.body).backgroundColor")
        keep(browser, "no-board-#{width}#{'-dark' if dark}")
      end
    end
  ensure
    server&.kill
  end

  private

  JSON_TYPE = { "Content-Type" => "application/json" }.freeze

  def create(server, **settings)
    game = server.request("POST", "/games", headers: JSON_TYPE, body: '{"name":"Karts"}').json["id"]
    board = server.request("POST", "/games/#{game}/leaderboards",
                           headers: JSON_TYPE, body: JSON.generate({ name: "Points", **settings })).json["id"]
    "/leaderboards/#{board}"
  end

  def submit(server, board, member, score)
    answer = server.request("PUT", "#{board}/members/#{member.gsub(' ', '%20')}",
                            headers: JSON_TYPE, body: JSON.generate(score: score))
    assert_equal 200, answer.status
  end

  def shown(browser, id, pattern)
    wait_until("#{id} shows #{pattern.inspect}, not #{browser.text(id).inspect}") { pattern.match?(browser.text(id)) }
  end

  # Nothing stands out of the page, wide or narrow. The pictures are kept where SCREENSHOTS says.
  def look(browser, url)
    [[1200, false], [1200, true], [390, false], [390, true]].each do |width, dark|
      browser.visit(url, width: width, dark: dark)
      shown(browser, "size", /2 members/)
      assert_operator browser.evaluate("document.documentElement.scrollWidth"), :<=, width
      keep(browser, "board-#{width}#{'-dark' if dark}")
    end
  end

  def keep(browser, name)
    ENV["SCREENSHOTS"] && File.binwrite(File.join(ENV["SCREENSHOTS"], "#{name}.png"), browser.screenshot)
  end
end
