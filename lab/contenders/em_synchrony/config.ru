# frozen_string_literal: true

# The stack of 2011: Sinatra on Thin, each request in a fiber of a pool, waits that give the reactor back (em-synchrony).
require "json"
require "sinatra/base"
require "em-synchrony"
require_relative "fiber_per_request"

class Plain < Sinatra::Base
  set :environment, :production
  set :logging, false
  set :protection, false
  set :show_exceptions, false
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
    EM::Synchrony.sleep(0.05)
    content_type "text/plain"
    "slept"
  end
end

use FiberPerRequest
run Plain
