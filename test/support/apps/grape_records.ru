# frozen_string_literal: true

# A Grape API with ActiveRecord, as people write it.
require "grape"
require_relative "widgets"

class Shop < Grape::API
  format :json
  get("/hello") { "hello" }
  get("/slow") { { waited: Widget.wait(params.fetch(:seconds, 0.2)) } }
  get("/widgets") { { widgets: Widget.count } }
  get("/widgets/create") { { open: Widget.create_pair(params[:name], fail: params[:fail]) } }
  get("/pool") { Widget.connection_pool.stat }
end

run Shop
