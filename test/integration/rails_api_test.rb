# frozen_string_literal: true

# A Rails API under `elah serve`, with no line for Elah in it.
require "test_helper"
require "support/gems"
return unless Gems.present?("railties", "activerecord", "pg", "mysql2")

require "support/records_case"

class RailsApiTest < Minitest::Test
  include RecordsCase

  APP = File.expand_path("../support/apps/rails_api/config.ru", __dir__)

  def test_no_lock_serialises_the_requests
    serve("postgresql") { |server| refute_includes server.get("/middleware").json, "Rack::Lock" }
  end

  def test_current_attributes_stay_with_their_request
    serve("postgresql") do |server|
      2.times do
        burst = RequestBurst.new(server, Array.new(50) { |index| "/whoami?user=u#{index}" })
        assert_equal(Array.new(50) { |index| { "before" => nil, "user" => "u#{index}" } }, burst.answers.map(&:json))
      end
    end
  end
end
