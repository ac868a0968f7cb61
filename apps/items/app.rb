# frozen_string_literal: true

# The random-item API. `elah serve apps/items/app.rb` runs it on the store that --store names: the embedded one in the folder
# that --data names, unless it is told otherwise.
require "elah"
require_relative "api"
require_relative "stores"

Items.service = Items::Service.new(Items::Stores.open(Elah.config))

run Items::API
