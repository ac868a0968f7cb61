# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/chromium"
require_relative "../support/links_server"
require_relative "../support/patience"

# The pages of the shortener in a browser: where a link leads, and where none does.
class LinksPagesTest < Minitest::Test
  include Patience

  LONG = "https://example.com/#{'long-' * 100}"

  def test_pages_fit_a_phone_and_have_the_colours_of_the_system
    server = ElahServer.start(LinksServer::APP)
    create(server, code: "shown", title: "A title <b>", target: LONG)
    create(server, code: "plain", target: LONG)
    create(server, code: "ended", target: LONG, expires_in: 1)
    wait_until("the link has ended") { server.request("HEAD", "/ended").status == 410 }
    pages = { "/none" => ["There is no such link", /There is no link with the code none\./],
              "/ended" => ["This link has ended", /The link ended has expired\./],
              "/shown+" => ["A title <b>", /leads to/],
              "/plain+" => ["#{server.http_url}/plain", /#{LONG}/] }
    Chromium.open do |browser|
      pages.each do |path, (title, text)|
        [[320, false], [390, true], [1200, false], [1200, true]].each do |width, dark|
          look(browser, server.http_url + path, title, text, width, dark)
        end
      end
      # The status of the page itself is all that a browser complains of, and nothing that the policy of the page has
      # refused.
      assert_empty browser.complaints.grep_v(/the server responded with a status of 4\d\d/)
    end
  ensure
    server&.kill
  end

  private

  def create(server, **fields)
    answer = server.request("POST", "/links",
                            headers: { "Content-Type" => "application/json" }, body: JSON.generate(fields))
    assert_equal 201, answer.status
  end

  # The pictures are kept where SCREENSHOTS says.
  def look(browser, url, title, text, width, dark)
    browser.visit(url, width: width, dark: dark)
    wait_until("#{url} is there") { browser.evaluate("document.title") == title }
    assert_match text, browser.evaluate("document.querySelector('main').textContent")
    assert_operator browser.evaluate("document.documentElement.scrollWidth"), :<=, width
    assert_equal dark ? "rgb(20, 23, 27)" : "rgb(246, 246, 243)",
                 browser.evaluate("getComputedStyle(document.body).backgroundColor")
    File.binwrite(File.join(ENV["SCREENSHOTS"], "link#{url[%r{/[^/]+\z}].tr('/', '-')}-#{width}#{'-dark' if dark}.png"),
                  browser.screenshot) if ENV["SCREENSHOTS"]
  end
end
