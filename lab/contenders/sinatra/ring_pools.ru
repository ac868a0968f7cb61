# frozen_string_literal: true

# The ring pools in Sinatra on threads.
require_relative "ring_pools_app"

RingPools.open(ENV.fetch("DATA"), Integer(ENV.fetch("THREADS")))
run RingPoolsApp
