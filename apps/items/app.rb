# frozen_string_literal: true

# The random-item API. `elah serve apps/items/app.rb` runs it on the store that --store selects, by default the embedded one in
# the folder of --data.
require "elah"
require_relative "api"
require_relative "stores"

Items.service = Items::Service.new(Items::Stores.open(Elah.config))

run Items::API
