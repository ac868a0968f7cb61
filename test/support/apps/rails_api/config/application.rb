# frozen_string_literal: true

# A Rails API as people write it, without a line for Elah. DATABASE_URL says where its records are, and CREATE_TABLES
# makes the tables.
require_relative "boot"
require "logger"
require "rails"
%w[active_record active_job action_controller].each { |part| require "#{part}/railtie" }
%w[action_cable active_storage].each { |part| require "#{part}/engine" }

# The application.
class Shop < Rails::Application
  config.load_defaults "#{Rails::VERSION::MAJOR}.#{Rails::VERSION::MINOR}"
  config.root = File.expand_path("..", __dir__)
  config.api_only = true
  config.enable_reloading = Rails.env.development? if config.respond_to?(:enable_reloading=)
  config.cache_classes = !Rails.env.development? unless config.respond_to?(:enable_reloading=)
  config.eager_load = !Rails.env.development?
  config.secret_key_base = "s" * 32
  config.hosts.clear
  config.log_tags = [:request_id]
  config.logger = ActiveSupport::TaggedLogging.new(Logger.new(ENV.key?("LOG_FILE") ? ENV["LOG_FILE"] : File::NULL))
  config.active_support.deprecation = :silence
  config.active_job.queue_adapter = ENV.fetch("JOBS", "inline").to_sym
  config.active_storage.service = :disk
  config.active_record.async_query_executor = :global_thread_pool if Rails::VERSION::MAJOR >= 7
  config.action_cable.disable_request_forgery_protection = true
end
