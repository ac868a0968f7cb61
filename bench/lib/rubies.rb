# frozen_string_literal: true

require "fileutils"
require_relative "ruby_side"
require_relative "saturation"
require_relative "turns"

module Bench
  # Owns the sides of `bench/rubies`: the Ruby of this machine and those of the tests' Debians, each with YJIT where it has it, and their contests.
  class Rubies
    # The libraries that the Rails API loads.
    RAILS = "-rrails -ractive_record -rpg"
    PRODUCT = "/products/1"
    POOL = 20
    CONNECT_SECONDS_MAX = 60

    # app:: as `elah serve` takes it
    # path:: what is asked for; nil asks for another link each time
    # target:: whether a Ruby without YJIT may cost no more than the first
    Contest = Struct.new(:name, :title, :app, :path, :target)
    CONTESTS = [
      Contest.new("text", "Text from an `Elah::API` block", "bench/apps/hello.rb", "/hello", true),
      Contest.new("json", "JSON from a Ruby Hash", "bench/apps/hello.rb", "/json", true),
      Contest.new("rack", "Trivial Rack app", "bench/apps/rack.ru", "/rack", true),
      Contest.new("link", "Shortener: look-up, redirect, visit counted", "apps/links/app.rb", nil, true),
      Contest.new("sql", "A record through `Elah::SQL`", "bench/apps/sql.rb", PRODUCT, true),
      Contest.new("rails", "A record through Rails", "bench/apps/rails_queries.ru", PRODUCT, false)
    ].freeze

    # @param versions [Array<String>] of OtherRuby
    # @param build [Boolean]
    # @param url [String] of the database
    # @param rounds [Integer]
    # @param timing [Hash] seconds and warmup of a run
    # @yieldparam line [String] of progress
    def initialize(versions, build:, url:, rounds:, **timing, &progress)
      @versions = versions
      @build = build
      @url = url
      @rounds = rounds
      @timing = timing
      @progress = progress
      @links = Links.new(Bench.work_directory)
    end

    # @yield with all Rubies at hand
    def open(versions = @versions, sides = named(RubySide.here), &block)
      if versions.empty?
        @sides = sides
        return yield(self)
      end
      RubySide.open(versions.first, build: @build) { |side| open(versions.drop(1), sides.merge(named(side)), &block) }
    end

    # @param name [String] of a contest
    # @return [Hash] runs and the CPU time of each, divided by the first Ruby's
    def contest(name)
      contest = CONTESTS.find { |one| one.name == name }
      sides = @sides.select { |_, side| name != "rails" || side.ask("ruby", *RAILS.split, "-e", "puts 1") == "1" }
      servers = sides.to_h { |title, side| [title, serve(title, side, contest)] }
      runs = measure(contest, servers)
      { contest: name, title: contest.title, rubies: sides.transform_values(&:ruby), runs: runs,
        ratios: runs.transform_values { |one| Turns.ratio(one, runs.values.first, :cpu_us) },
        targets: contest.target ? sides.keys.drop(1).grep_v(/YJIT/) : [] }
    end

    private

    # Each Ruby without YJIT, and with it where it has it.
    def named(side) = { side.version => side, "#{side.version} with YJIT" => side.with_yjit }.compact

    def serve(title, side, contest)
      name = "rubies-#{contest.name}-#{title.tr(" ", "-")}"
      data = File.join(WORK_DIRECTORY, name)
      FileUtils.rm_rf(File.join(side.checkout, data))
      url = contest.name == "rails" ? "#{@url}?pool=#{POOL}" : @url
      environment = { "DATABASE_URL" => url, "RAILS_ENV" => "production", "RACK_ENV" => "production" }
      Server.new(name, core: SERVER_CORE, directory: Bench.work_directory) do |port|
        side.enter("exe/elah", "serve", contest.app, "--bind", "tcp://127.0.0.1:#{port}", "--workers", "1", "--data", data,
                   "--store-bytes-max", STORE_BYTES_MAX.to_s, environment: environment)
      end
    end

    # Lets a pool connect, which takes longer than many requests.
    def connect(server, path)
      report = Bench.generators.once(server.url(path), connections: CONNECTIONS, timeout: CONNECT_SECONDS_MAX)
      report["failed"].zero? or raise "#{server.name} failed: #{report["failures"]}"
    end

    def measure(contest, servers)
      servers.each_value(&:start)
      servers.each_value { |server| contest.path ? connect(server, contest.path) : @links.import(server) }
      saturation = Saturation.new(Bench.generators, paths_file: (@links.paths_file unless contest.path), **@timing)
      Turns.take(servers.keys, @rounds) do |name|
        saturation.run(servers[name], servers[name].url(contest.path || "/")).tap { |run| @progress.call(Saturation.line(contest.name, name, run)) }
      end
    ensure
      servers.each_value(&:stop)
    end
  end
end
