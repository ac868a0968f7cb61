# frozen_string_literal: true

# The text of the rack workload as a Rails 6.1 API application, for bench/yjit.
require "rails"
require "action_controller/railtie"

class PlainApplication < Rails::Application
  config.load_defaults 6.1
  config.api_only = true
  config.eager_load = true
  config.cache_classes = true
  config.logger = Logger.new($stderr, level: :warn)
  config.secret_key_base = "of a benchmark"
  config.hosts.clear
  routes.append { get "/rack", to: "plain#text" }
end

class PlainController < ActionController::API
  def text = render(plain: "hello world")
end

PlainApplication.initialize!

run PlainApplication
