# frozen_string_literal: true

# The random-item API once more, with Grape and ActiveRecord: `ITEMS_DATABASE_URL=postgres://... elah serve
# apps/items/grape_active_record/config.ru`. Any Rack server runs it.
require_relative "api"

ActiveRecord::Base.establish_connection(url: ENV.fetch("ITEMS_DATABASE_URL").sub("mysql:", "mysql2:"), pool: 16)
ActiveRecord::Base.logger = nil
store = Items::Stores::ActiveRecord.new
store.make_tables

run Items::GrapeAPI.serving(store)
