# frozen_string_literal: true

# The record of apps/stats in Sinatra with the gem mongo: one insert, then the answer. `bench/stats` runs it under Puma, with the server
# in MONGODB_URL.
require "json"
require "sinatra/base"
require "mongo"

Mongo::Logger.logger.level = Logger::WARN

# Owns the two routes.
class StatsSinatra < Sinatra::Base
  set :environment, :production
  set :logging, false
  set :protection, false

  SERVER = URI(ENV.fetch("MONGODB_URL")) # which this version of the gem cannot read on Ruby 3
  EVENTS = Mongo::Client.new(["#{SERVER.host}:#{SERVER.port}"], database: SERVER.path.delete_prefix("/"), connect: :direct,
                                                                max_pool_size: Integer(ENV.fetch("PUMA_THREADS")))[:sinatra_events]
  ANSWER = '{"durability":"delivered"}'

  get("/stats") { record(params) }
  post("/stats") { record(JSON.parse(request.body.read)) }

  helpers do
    def record(params)
      headers = request.env.select { |name, _| name.start_with?("HTTP_") }
      EVENTS.insert_one(ip: request.ip, path: request.path, headers: headers, params: params, time: Time.now)
      content_type :json
      ANSWER
    end
  end
end

run StatsSinatra
