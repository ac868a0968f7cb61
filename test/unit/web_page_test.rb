# frozen_string_literal: true

require "test_helper"
require_relative "../../apps/web_page"

# Who is shown a page, by the header Accept.
class WebPageTest < Minitest::Test
  BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
  CPU_SECONDS_MAX = 0.3

  def test_who_prefers_html_is_shown_a_page
    ["text/html", BROWSER, "application/json;q=0.5, text/html;level=1;q=0.6", "text/html ; q=0.1"].each do |accept|
      assert WebPage.wanted?(accept), accept
    end
  end

  def test_all_others_get_json
    [nil, "", "*/*", "text/*", "application/json", "text/html;q=0", "application/json, text/html",
     "application/problem+json,text/html;q=0.9", "text/html;q=0.5;q=0.9, application/json;q=0.7", "text/htmlx",
     ",;,"].each do |accept|
      refute WebPage.wanted?(accept), accept.inspect
    end
  end

  def test_a_long_header_is_read_in_linear_time
    ["a/" * 7_500, "a/b; " * 3_000, "a/b;;;;" * 2_000, "a" * 15_000, "a/b;#{' ' * 15_000}",
     "," * 15_000].each do |ranges|
      began = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      assert WebPage.wanted?("text/html,#{ranges}")
      assert_operator Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - began, :<, CPU_SECONDS_MAX,
                      ranges[0, 20]
    end
  end
end
