# frozen_string_literal: true

# The submission and the reads of apps/leaderboards on Redis, in Sinatra with the gem redis: the same scripts on the same keys, and the same
# answers. Each thread of Puma has a connection of its own, and knows that the server has the scripts.
require "digest/sha1"
require "json"
require "redis"
require "sinatra/base"
require_relative "../../apps/leaderboards/stores/redis/scripts"

# Owns the four routes of one board whose scores are integers, the largest first.
class LeaderboardsSinatra < Sinatra::Base
  set :environment, :production
  set :logging, false
  set :protection, false

  STEM = "leaderboards:{#{ENV.fetch('LEADERBOARDS_NAME')}:1}:"
  KEYS = ["#{STEM}season"].freeze
  SCRIPTS = Leaderboards::Stores::Redis::Scripts
  SUBMIT = Digest::SHA1.hexdigest(SCRIPTS::SUBMIT)
  ROW = Digest::SHA1.hexdigest(SCRIPTS::PLAIN_ROW)
  LIST = Digest::SHA1.hexdigest(SCRIPTS::PLAIN_LIST)
  LAST = (1 << 64) - 1
  SIGN = 1 << 63

  helpers do
    def redis
      Thread.current[:redis] ||= Redis.new(url: ENV.fetch("REDIS_URL")).tap do |redis|
        [SCRIPTS::SUBMIT, SCRIPTS::PLAIN_ROW, SCRIPTS::PLAIN_LIST].each { |script| redis.script(:load, script) }
      end
    end

    def sort_key(score) = [LAST - (score + SIGN)].pack("Q>")

    def score_of(sort_key) = LAST - sort_key.unpack1("Q>") - SIGN

    def row(rank, place) = { rank: rank, member: place.byteslice(16..), score: score_of(place) }

    def list(*what)
      season, size, first, places = redis.evalsha(LIST, keys: KEYS, argv: what)
      JSON.generate(season: season.to_i, size: size, members: places.each.with_index(first).map { |place, rank| row(rank, place) })
    end
  end

  before { content_type :json }

  get("/leaderboards/1/top") { list(10) }
  get("/leaderboards/1/members/:member") { |member| JSON.generate(row(*redis.evalsha(ROW, keys: KEYS, argv: [member]))) }
  get("/leaderboards/1/members/:member/around") { |member| list(5, member) }

  put "/leaderboards/1/members/:member" do |member|
    given = JSON.parse(request.body.read)
    arguments = [member, sort_key(given.fetch("score")), given.fetch("operator"), "ordinal", "d", "earliest", 100_000_000, "", "", "", 0, 0, ""]
    rank, sort_key, previous_rank, previous, changed = redis.evalsha(SUBMIT, keys: KEYS, argv: arguments)
    JSON.generate(rank: rank, member: member, score: score_of(sort_key), previous_rank: previous_rank,
                  previous_score: previous && score_of(previous), changed: changed == 1)
  end
end

run LeaderboardsSinatra
