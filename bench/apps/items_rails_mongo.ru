# frozen_string_literal: true

# The random item as a Rails 6.1 API application on the gem mongo, in the collections of apps/items: what `bench/items` puts under
# Puma, with the server in MONGODB_URL. The same single query as Elah's; the document goes out as it is stored.
require "rails"
require "action_controller/railtie"
require "mongo"

Mongo::Logger.logger.level = Logger::WARN

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
  routes.append { get "/items/random", to: "items#random" }
end

class ItemsController < ActionController::API
  SERVER = URI(ENV.fetch("MONGODB_URL")) # which this version of the gem cannot read on Ruby 3
  ITEMS = Mongo::Client.new(["#{SERVER.host}:#{SERVER.port}"], database: SERVER.path.delete_prefix("/"), connect: :direct,
                                                               max_pool_size: Integer(ENV.fetch("RAILS_MAX_THREADS")))[:items]
  PROJECTION = { "n.=" => 1, "d" => 1 }.freeze
  STATE = -1
  ATTEMPTS_MAX = 64

  @@count = 1

  def random
    ATTEMPTS_MAX.times do
      count = @@count
      state, item = look(rand(count))
      @@count = state["n"]["="]
      next unless item && count == @@count

      response.set_header("Cache-Control", "no-store")
      return render(plain: item["d"], content_type: "application/json")
    end
    head :not_found
  end

  private

  def look(position)
    ITEMS.find({ "_id" => { "$in" => [STATE, position] } }, projection: PROJECTION).to_a.partition { |found| found["_id"] == STATE }.map(&:first)
  end
end

ItemsApplication.initialize!

run ItemsApplication
