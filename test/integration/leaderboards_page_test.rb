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

  private

  JSON_TYPE = { "Content-Type" => "application/json" }.freeze

  def create(server)
    game = server.request("POST", "/games", headers: JSON_TYPE, body: '{"name":"Karts"}').json["id"]
    board = server.request("POST", "/games/#{game}/leaderboards", headers: JSON_TYPE, body: '{"name":"Points"}').json["id"]
    "/leaderboards/#{board}"
  end

  def submit(server, board, member, score)
    assert_equal 200, server.request("PUT", "#{board}/members/#{member}", headers: JSON_TYPE, body: JSON.generate(score: score)).status
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
      File.binwrite(File.join(ENV["SCREENSHOTS"], "board-#{width}#{'-dark' if dark}.png"), browser.screenshot) if ENV["SCREENSHOTS"]
    end
  end
end
