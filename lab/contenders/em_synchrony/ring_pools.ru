# frozen_string_literal: true

# The ring pools of the contender sinatra, in fibers. SQLite answers at once, so nothing waits here.
require "em-synchrony"
require_relative "fiber_per_request"
require_relative "../sinatra/ring_pools_app"

RingPools.open(ENV.fetch("DATA"), 1)
use FiberPerRequest
run RingPoolsApp
