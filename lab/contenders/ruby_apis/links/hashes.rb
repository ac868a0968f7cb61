# frozen_string_literal: true

require "redis"

module Links
  # Links in Redis, a hash for each, with a connection per thread. A visit is one script.
  class Hashes
    VISIT = File.read(File.expand_path("../../redis/visit.lua", __dir__))
    NUMBERS = %w[status visits max_visits].freeze
    LIMITS = %w[max_visits not_before expires_at title].freeze

    def initialize(url)
      @url = url
      @visit = redis.script(:load, VISIT)
    end

    # @return [Boolean] whether its code was free
    def insert(link)
      redis.hsetnx(key(link["code"]), "code", link["code"]) && redis.mapped_hmset(key(link["code"]), link.compact) && true
    end

    # @return [Hash, nil] target, status and max_visits of a link that redirects, which counts
    def visit(code, now)
      target, status, max_visits = redis.evalsha(@visit, [key(code)], [now])
      target && { "target" => target, "status" => status.to_i, "max_visits" => max_visits }
    end

    # @return [Hash, nil]
    def find(code)
      link = redis.hgetall(key(code))
      link.merge(link.slice(*NUMBERS).transform_values(&:to_i)) if link.key?("target")
    end

    def update(code, link)
      redis.multi do |transaction|
        transaction.hdel(key(code), LIMITS)
        transaction.mapped_hmset(key(code), link.compact)
      end
    end

    # @return [Boolean] whether it was there
    def delete(code) = redis.del(key(code)).positive?

    # Redis has no transactions that could be read in.
    def together = yield

    private

    def redis = Thread.current[:links_redis] ||= Redis.new(url: @url)
    def key(code) = "link:#{code}"
  end
end
