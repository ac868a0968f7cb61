# frozen_string_literal: true

# An API whose plain requests a responder of a script answers, and whose others say that they were not, for
# test/integration/redis_responder_test.rb. The handlers ask the server once, so that they meet what is wrong with it.
class Ranks < Elah::API
  REDIS = Elah::Redis.new(Elah.settings.fetch(:ranks_redis), command_seconds: Elah.settings.fetch(:ranks_command_seconds, "30").to_f)
  ROW = REDIS.script(<<~LUA)
    local element = redis.call('HGET', KEYS[1], ARGV[1])
    return element and {redis.call('ZRANK', KEYS[2], element .. ARGV[1]) + 1, element .. ARGV[1]}
  LUA
  LIST = REDIS.script(<<~LUA)
    local first = ARGV[2] and redis.call('ZRANK', KEYS[2], redis.call('HGET', KEYS[1], ARGV[2]) .. ARGV[2]) or 0
    return {redis.call('GET', KEYS[3]), redis.call('ZCARD', KEYS[2]), first + 1, redis.call('ZRANGE', KEYS[2], first, first + ARGV[1] - 1)}
  LUA
  SETTINGS = { "points" => {}, "times" => { order: %i[asc desc], decimals: [2, 0], ties: :member } }.freeze
  TYPE = { "content-type" => "application/json" }.freeze
  LISTED = ['{"version":', ',"size":', ',"members":[', "]}"].freeze
  RESPONDERS = [[ROW.responder(headers: TYPE, texts: ["", ""], last: "member", last_bytes_max: 10), []],
                [LIST.responder(headers: TYPE, texts: LISTED), [2]],
                [LIST.responder(headers: TYPE, texts: LISTED, last: "member"), [3]]].freeze
  COUNTS = Hash.new(0)

  class << self
    def keys(id) = %w[elements order version].map { |name| "#{id}:#{name}" }

    # @param place [String] without the name of the member
    def enter(id, member, place)
      REDIS.hset(keys(id)[0], member, place)
      REDIS.zadd(keys(id)[1], 0, place + member.b)
    end

    def know(id) = RESPONDERS.each { |responder, args| responder.add(id, keys: keys(id), args: args, **SETTINGS.fetch(id)) }
  end

  format :json

  helpers do
    def leave_alone
      COUNTS["left alone"] += 1
      REDIS.ping
      request.respond(202, {}, "left alone")
    rescue Elah::Error => e
      request.respond(e.status, {}, "#{e.class}: #{e.message}")
    end
  end

  get("ranks/:id/top", raw: true, responder: RESPONDERS[1].first) { leave_alone }
  get("ranks/:id/from/:member", raw: true, responder: RESPONDERS[2].first) { leave_alone }
  get("ranks/:id/:member", raw: true, responder: RESPONDERS[0].first) { leave_alone }
  post("ranks/:id") { Ranks.know(params[:id]) && REDIS.set("#{params[:id]}:version", 7) }
  put("ranks/:id/:member") { Ranks.enter(params[:id], params[:member], [json_object["place"]].pack("H*")) && REDIS.ping }
  delete(:ranks) { RESPONDERS.each { |responder, _| responder.clear } && "" }
  get(:counts) { COUNTS }
end

run Ranks
