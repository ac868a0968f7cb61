# frozen_string_literal: true

# The stats in Sinatra on threads.
require_relative "stats_app"

Stats.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))
run StatsApp
