# frozen_string_literal: true

require "test_helper"
require "support/gems"
return unless Gems.present?("grape", "activerecord", "sqlite3")

require "json"
require "open3"
require "rbconfig"

# In a process that has loaded ActiveSupport and ActiveRecord a handler's value becomes the JSON that Grape and Rails
# make of it. JSON is compared as it is read: ActiveSupport escapes <, > and & in strings, which Elah does not.
class RailsJSONTest < Minitest::Test
  VALUES = File.expand_path("rails_json/values.rb", __dir__)

  # Without Grape, which does not exist for every version of ActiveSupport.
  def test_a_value_becomes_what_its_to_json_is
    rails = responses("rails")
    elah = responses("elah")
    assert_operator rails.size, :>, 80
    different = rails.reject { |name, value| elah[name].first == 200 && elah[name].last == value }
    assert_empty(different.map { |name, value| "#{name}\n  to_json: #{value}\n  Elah:    #{elah[name]}" })
  end

  def test_a_value_becomes_what_rails_makes_of_it
    grape, elah = %w[grape elah].map { |side| responses(side) }
    assert_equal grape.keys, elah.keys
    different = grape.keys.reject { |name| grape[name] == elah[name] }
    assert_empty(different.map { |name| "#{name}\n  Grape: #{grape[name]}\n  Elah:  #{elah[name]}" })
    assert_equal "hidden", elah["alone merged"].last["name"]
    assert_equal [200, "application/json", "2026-01-02T03:04:05.678Z"],
                 [*elah["alone record"].first(2), elah["alone record"].last["created_at"]]
  end

  private

  def responses(side)
    output, errors, status = Open3.capture3(RbConfig.ruby, "-W0", VALUES, side)
    assert_predicate status, :success?, errors
    JSON.parse(output)
  end
end
