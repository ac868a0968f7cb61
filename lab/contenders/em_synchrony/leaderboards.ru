# frozen_string_literal: true

# The leaderboards of the contender sinatra, in fibers. SQLite answers at once, so nothing waits here.
require "em-synchrony"
require_relative "fiber_per_request"
require_relative "../sinatra/leaderboards_app"

Leaderboards.open(ENV.fetch("DATA"), 1)
use FiberPerRequest
run LeaderboardsApp
