# frozen_string_literal: true

# A Rails API as people write it, in one file. DATABASE_URL says where its records are.
ENV["RAILS_ENV"] = "production"
require "rails"
require "active_record/railtie"
require "action_controller/railtie"

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
    get "/slow" => "shop#slow"
    get "/widgets" => "shop#count"
    get "/widgets/create" => "shop#create"
    get "/whoami" => "shop#whoami"
    get "/pool" => "shop#pool"
    get "/middleware" => "shop#middleware"
  end
end

class Widget < ActiveRecord::Base
  def self.wait(seconds) = connection.select_value(connection.adapter_name == "Mysql2" ? "SELECT SLEEP(#{seconds})" : "SELECT 1 FROM pg_sleep(#{seconds})")
end

class Current < ActiveSupport::CurrentAttributes
  attribute :user
end

class ShopController < ActionController::API
  def hello = render(plain: "hello")

  def slow
    Widget.wait(params.fetch(:seconds, 0.2))
    render json: { waited: true }
  end

  def count = render(json: { widgets: Widget.count })

  # Creates two widgets or none.
  def create
    Widget.transaction do
      Widget.create!(name: params[:name])
      Widget.wait(0.05)
      raise ActiveRecord::Rollback if params[:fail]

      Widget.create!(name: params[:name])
    end
    render json: { open: Widget.connection.open_transactions }
  end

  def whoami
    before = Current.user
    Current.user = params[:user]
    sleep 0.05
    render json: { before: before, user: Current.user }
  end

  def pool = render(json: Widget.connection_pool.stat)
  def middleware = render(json: Rails.application.middleware.map(&:name))
end

ShopApplication.initialize!
Widget.connection.create_table(:widgets, force: true) { |table| table.string :name } if ENV["CREATE_TABLES"]
run ShopApplication
