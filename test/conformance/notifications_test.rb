# frozen_string_literal: true

require "test_helper"
require "json"
require "open3"
require "rbconfig"
require "support/gems"

# A subscriber of `*.grape`, as APM agents are, receives from Elah what Grape tells it.
class NotificationsConformanceTest < Minitest::Test
  EVENTS = File.expand_path("notifications/events.rb", __dir__)

  # Elah runs `finally` after the response is written, which docs/api.md says.
  def test_events_and_payloads_are_those_of_grape
    Gems.missing("grape")&.then { |reason| skip reason }
    grape, elah = %w[grape elah].map { |side| recorded(side) }
    assert_operator grape.size, :>, 8
    grape.each do |request, expected|
      finals, others = expected["events"].partition { |_, payload| payload["type"] == "finally" }
      assert_equal others.map(&:first), elah[request]["events"].map(&:first).first(others.size), request
      assert_equal [*others, *finals], elah[request]["events"], request
      assert_equal expected["status"], elah[request]["status"], request
    end
  end

  private

  def recorded(side)
    output, errors, status = Open3.capture3(RbConfig.ruby, "-W0", EVENTS, side)
    assert_predicate status, :success?, errors
    JSON.parse(output)
  end
end
