# frozen_string_literal: true

# The original's shape (apps/leaderboards/grape_active_record) with a statement before each request that waits in the database.
require_relative "../../apps/leaderboards/grape_active_record/api"

WAIT = "SELECT sleep(#{Float(ENV.fetch('LEADERBOARDS_WAIT_SECONDS'))})"
ActiveRecord::Base.establish_connection(url: ENV.fetch("LEADERBOARDS_DATABASE_URL").sub("mysql:", "mysql2:"),
                                        pool: Integer(ENV.fetch("LEADERBOARDS_POOL")))
ActiveRecord::Base.logger = nil

# A thread gives its connection back when it has answered.
run lambda { |env|
  ActiveRecord::Base.connection_pool.with_connection do |connection|
    connection.select_value(WAIT)
    Leaderboards::GrapeAPI.call(env)
  end
}
