# frozen_string_literal: true

# Rails 6.1 as an API application in production; each API adds its routes and controllers.
require "rails"
require "action_controller/railtie"

class LabApplication < Rails::Application
  config.load_defaults 6.1
  config.api_only = true
  config.eager_load = true
  config.cache_classes = true
  config.consider_all_requests_local = false
  config.log_level = :warn
  config.logger = Logger.new($stderr, level: :warn)
  config.secret_key_base = "of a benchmark"
  config.hosts.clear
end
