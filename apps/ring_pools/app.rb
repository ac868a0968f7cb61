# frozen_string_literal: true

# The number allocator. `elah serve apps/ring_pools/app.rb` runs it on the embedded store in the folder of --data.
require "elah"
require_relative "settings"
require_relative "api"

RingPools.service = RingPools::Settings.service(Elah.settings, Elah.config)

run RingPools::API
