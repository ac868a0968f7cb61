# frozen_string_literal: true

# The leaderboards. `elah serve apps/leaderboards/app.rb` runs them on the embedded store in the folder of --data.
require "elah"
require_relative "settings"
require_relative "api"

Leaderboards.service = Leaderboards::Settings.service(Elah.settings, Elah.config)
Elah::Config.at(:before_worker_boot) { Leaderboards.service.start }

run Leaderboards::API
