# frozen_string_literal: true

# The stats collector. `elah serve apps/stats/app.rb` runs it on the embedded store in the folder of --data.
require "elah"
require_relative "settings"
require_relative "api"

Stats.service = Stats::Settings.service(Elah.settings, Elah.config)

run Stats::API
