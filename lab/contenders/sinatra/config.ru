# frozen_string_literal: true

# The plain answers in Sinatra.
require "json"
require "sinatra/base"

class Plain < Sinatra::Base
  set :environment, :production
  set :logging, false
  set :protection, false
  disable :static

  get("/hello") do
    content_type "text/plain"
    "hello world"
  end

  get("/json") do
    content_type :json
    JSON.generate({ id: 42, title: "hello world", done: false, tags: %w[ruby rust] })
  end

  get("/sleep") do
    sleep 0.05
    content_type "text/plain"
    "slept"
  end
end

run Plain
