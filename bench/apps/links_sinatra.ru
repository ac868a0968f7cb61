# frozen_string_literal: true

# The same redirect as apps/links on Redis, in Sinatra with the gem redis: one look-up, one count, in one round trip, which is
# more than most would write. Each thread of Puma has a connection of its own.
require "sinatra/base"
require "redis"

# Owns the one route.
class LinksSinatra < Sinatra::Base
  set :environment, :production
  set :logging, false
  set :protection, false

  HEADERS = { "cache-control" => "private, max-age=0", "referrer-policy" => "strict-origin-when-cross-origin",
              "x-robots-tag" => "noindex" }.freeze

  get "/:code" do |code|
    redis = Thread.current[:redis] ||= Redis.new(url: ENV.fetch("REDIS_URL"))
    key = "links:link:#{code}"
    target, = redis.pipelined do |pipeline|
      pipeline.hget(key, "redirect")
      pipeline.hincrby(key, "visits", 1)
    end
    halt 404 unless target
    headers HEADERS
    redirect target, 302
  end
end

run LinksSinatra
