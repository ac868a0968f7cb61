# frozen_string_literal: true

# A Grape app with ActiveRecord under `elah serve`, with no line for Elah in it.
require "test_helper"
require "support/gems"
return unless Gems.present?("grape", "activerecord", "pg", "mysql2")

require "support/records_case"

class GrapeRecordsTest < Minitest::Test
  include RecordsCase

  APP = File.expand_path("../support/apps/grape_records.ru", __dir__)
end
