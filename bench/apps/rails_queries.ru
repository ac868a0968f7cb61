# frozen_string_literal: true

# A Rails API with one query a request, on the PostgreSQL in DATABASE_URL: a record by its key, and a query that takes as
# many milliseconds as the path says. For `bench/rails` and `bench/rubies`.
require "rails"
require "active_record/railtie"
require "action_controller/railtie"

class QueriesApplication < Rails::Application
  config.load_defaults "#{Rails::VERSION::MAJOR}.#{Rails::VERSION::MINOR}"
  config.api_only = true
  config.eager_load = true
  config.cache_classes = true
  config.log_level = :warn
  config.logger = Logger.new($stderr, level: :warn)
  config.secret_key_base = "of a benchmark"
  config.hosts.clear
  config.active_record.schema_format = :sql

  routes.append do
    get "/products/:id", to: "queries#product"
    get "/waits/:milliseconds", to: "queries#wait"
  end
end

class Product < ActiveRecord::Base; end

class QueriesController < ActionController::API
  def product = render(json: Product.find(params[:id]))

  def wait
    Product.connection.select_value("SELECT 1 FROM pg_sleep(#{Integer(params[:milliseconds]) / 1000.0})")
    render plain: "waited"
  end
end

QueriesApplication.initialize!

run QueriesApplication
