# frozen_string_literal: true

# A Sinatra app with ActiveRecord, as people write it.
require "json"
require "sinatra/base"
require_relative "widgets"

class Shop < Sinatra::Base
  set :environment, :production
  set :raise_errors, true
  before { content_type :json }
  get("/hello") { JSON.generate("hello") }
  get("/slow") { JSON.generate(waited: Widget.wait(params.fetch(:seconds, 0.2))) }
  get("/widgets") { JSON.generate(widgets: Widget.count) }
  get("/widgets/create") { JSON.generate(open: Widget.create_pair(params[:name], fail: params[:fail])) }
  get("/pool") { JSON.generate(Widget.connection_pool.stat) }
end

run Shop
