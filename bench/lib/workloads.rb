# frozen_string_literal: true

module Bench
  ROOT = File.expand_path("../..", __dir__)

  # What is asked of both servers, and what the ratio should reach.
  #
  # app:: the Elah application, as `elah serve` takes it
  # path:: what is requested; nil when every request takes one of the link codes
  # target:: least ratio to bare hyper
  # cpu_max:: most CPU time of a request, in multiples of bare hyper's; nil leaves it to the target
  Workload = Struct.new(:name, :title, :app, :path, :status, :target, :cpu_max, keyword_init: true) do
    # @return [Boolean] whether each request asks for another of the links
    def links?
      path.nil?
    end
  end

  WORKLOADS = [
    Workload.new(name: "text", title: "Text from an `Elah::API` block", app: "bench/apps/hello.rb",
                 path: "/hello", status: 200, target: 0.80, cpu_max: 1.35),
    Workload.new(name: "json", title: "JSON from a Ruby Hash", app: "bench/apps/hello.rb",
                 path: "/json", status: 200, target: 0.70, cpu_max: 1.35),
    Workload.new(name: "link", title: "Shortener: look-up, redirect, visit counted", app: "apps/links/app.rb",
                 path: nil, status: 302, target: 0.55),
    Workload.new(name: "rack", title: "Trivial Rack app", app: "bench/apps/rack.ru",
                 path: "/rack", status: 200, target: 0.50, cpu_max: 1.5),
  ].freeze

  # What the shortener on Redis should reach, beside each server.
  REDIS_TARGETS = { bare: "≥ 0.35", sinatra: "≥ 3" }.freeze

  # What bench/ranked_set measures, in words, and its targets.
  RANKED_SET_FIGURES = {
    ranks: ["ranks per second, one by one", "≥ 1,500,000"],
    ranks_of_many: ["ranks per second, 100 in a call", "≥ 1,500,000"],
    updates: ["updates per second with the rank, one by one", "≥ 500,000"],
    updates_of_many: ["updates per second, 100 in a call", "≥ 500,000"],
    tops: ["first tens per second"],
    arounds: ["members between ten neighbours per second"],
    redis_ranks: ["ranks per second of a Redis server, in pipelines of 1,000"],
    redis_updates: ["updates per second with the rank of a Redis server, in pipelines of 1,000"],
    array_ranks: ["ranks per second of a sorted Array"],
    array_updates: ["updates per second of a sorted Array"],
    bytes_beside_names: ["bytes of a member beside its name", "≤ 64"],
    redis_bytes_beside_names: ["bytes of a member beside its name, in Redis"],
    loading_seconds: ["seconds until a stored set is loaded", "≤ 2"],
    p99_ratios: ["p99 of a rank with ten times the members, ÷ with the members", "≤ 1.3"]
  }.freeze

  # How much slower Elah's p99 may be at half load.
  P99_FACTOR_MAX = 2.0

  # p95 of apps/stats at its limit may be so many times bare hyper's.
  P95_FACTOR_MAX = 2.0

  # How many instructions a route without `format` may take, in multiples of the same route with `format :txt`.
  UNTYPED_FACTOR_MAX = 1.03

  # CPU time of a request on another Ruby than the first of bench/rubies, both without YJIT.
  RUBY_FACTOR_MAX = 1.0

  # A request whose handler sleeps for 50 ms may cost so much CPU time when so many connections send one after the other.
  SLEEPING_CPU_MAX_US = 15
  SLEEPING_CONNECTIONS = 500

  # How many links apps/links creates for each one of Fastify with LMDB, both synced before the response.
  LINK_CREATION_FACTOR_MIN = 1

  # What a worker with 10,000 sleeping requests may take.
  CONNECTIONS_BYTES_MAX = 290_000_000

  # Private memory that the shortener's worker may take after a million requests. It was set when the code of libraries still counted.
  MEMORY_BYTES_MAX = 21_900_000
end
