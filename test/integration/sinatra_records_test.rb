# frozen_string_literal: true

# A Sinatra app with ActiveRecord under `elah serve`, with no line for Elah in it.
require "test_helper"
require "support/gems"
return unless Gems.present?("sinatra", "activerecord", "pg", "mysql2")

require "support/records_case"

class SinatraRecordsTest < Minitest::Test
  include RecordsCase

  APP = File.expand_path("../support/apps/sinatra_records.ru", __dir__)
end
