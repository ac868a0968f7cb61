# frozen_string_literal: true

# The random item as a Rails 6.1 API application on ActiveRecord, in the tables of apps/items: what `bench/items` puts
# under Puma, with the server in DATABASE_URL. The same single statement as Elah's, prepared by ActiveRecord; the document goes out as it is stored.
require "rails"
require "active_record/railtie"
require "action_controller/railtie"

class ItemsApplication < Rails::Application
  config.load_defaults 6.1
  config.api_only = true
  config.eager_load = true
  config.cache_classes = true
  config.consider_all_requests_local = false
  config.log_level = :warn
  config.logger = Logger.new($stderr, level: :warn)
  config.secret_key_base = "of a benchmark"
  config.hosts.clear
  config.active_record.schema_format = :sql
  routes.append { get "/items/random", to: "items#random" }
end

class ItemsController < ActionController::API
  LOOK = "SELECT c.total, i.document FROM item_totals c LEFT JOIN items i ON i.position = %s WHERE c.scope = ''"
  ATTEMPTS_MAX = 64

  @@count = 1

  def random
    ATTEMPTS_MAX.times do
      count = @@count
      @@count, document = look(rand(count))
      next unless document && count == @@count

      response.set_header("Cache-Control", "no-store")
      return render(plain: document, content_type: "application/json")
    end
    head :not_found
  end

  private

  def look(position)
    connection = ActiveRecord::Base.connection
    mark = connection.adapter_name == "PostgreSQL" ? "$1" : "?"
    bind = ActiveRecord::Relation::QueryAttribute.new("position", position, ActiveModel::Type::BigInteger.new)
    connection.exec_query(format(LOOK, mark), "Look", [bind], prepare: true).rows.first
  end
end

ItemsApplication.initialize!

run ItemsApplication
