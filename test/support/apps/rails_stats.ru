# frozen_string_literal: true

# A Rails API with the collector mounted in it, as people write it.
ENV["RAILS_ENV"] = "production"
require "rails"
require "action_controller/railtie"
require "elah"
require_relative "../../../apps/stats/settings"
require_relative "../../../apps/stats/api"

# The application.
class ShopApplication < Rails::Application
  config.api_only = true
  config.eager_load = true
  config.secret_key_base = "s" * 32
  config.hosts.clear
  config.logger = Logger.new(File::NULL)
  config.active_support.deprecation = :silence
  routes.append do
    get "/hello" => "shop#hello"
    mount Stats::API => "/collect"
  end
end

class ShopController < ActionController::API
  def hello = render(plain: "hello")
end

ShopApplication.initialize!
Stats.service = Stats::Settings.service(Elah.settings, Elah.config)
run ShopApplication
