# frozen_string_literal: true

# The original's leaderboard API in its own shape, with Grape and ActiveRecord on MariaDB: `LEADERBOARDS_DATABASE_URL=mysql://... elah serve
# apps/leaderboards/grape_active_record/config.ru`. Any Rack server runs it.
require_relative "api"

ActiveRecord::Base.establish_connection(url: ENV.fetch("LEADERBOARDS_DATABASE_URL").sub("mysql:", "mysql2:"),
                                        pool: ENV.fetch("LEADERBOARDS_POOL", "16").to_i)
ActiveRecord::Base.logger = nil
Leaderboards::Records.make_tables

run Leaderboards::GrapeAPI
