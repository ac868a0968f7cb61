# frozen_string_literal: true

# The leaderboards in Sinatra on threads.
require_relative "leaderboards_app"

Leaderboards.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))
run LeaderboardsApp
