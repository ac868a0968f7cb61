# frozen_string_literal: true

require "fileutils"
require_relative "../../test/other_ruby"
require_relative "saturation"
require_relative "turns"

module Bench
  # Owns the sides of `bench/rubies`: the Ruby of this machine and those of the tests' Debians, each with YJIT where it has it, and their contests.
  class Rubies
    YJIT = "--yjit --yjit-exec-mem-size=16"
    # Where cargo builds for them, beside what it builds for the tests in less time.
    TARGET = "target-bench"
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

    # A Ruby as it runs here: `enter` makes a command of it out of a command and variables.
    Side = Struct.new(:name, :ruby, :checkout, :enter, :has_rails, keyword_init: true)

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
    def open(versions = @versions, sides = here, &block)
      return with(sides, &block) if versions.empty?

      other = OtherRuby.new(versions.first)
      other.exclusively do
        prepare(other)
        enter = ->(command, environment) { other.enter(*command, target: TARGET, environment: environment) }
        open(versions.drop(1), sides + sides_of(other.checkout, enter), &block)
      end
    end

    # @param name [String] of a contest
    # @return [Hash] runs and the CPU time of each, divided by the first Ruby's
    def contest(name)
      contest = CONTESTS.find { |one| one.name == name }
      sides = @sides.select { |side| side.has_rails || name != "rails" }
      servers = sides.to_h { |side| [side.name, serve(side, contest)] }
      runs = measure(contest, servers)
      { contest: name, title: contest.title, rubies: sides.to_h { |side| [side.name, side.ruby] }, runs: runs,
        ratios: runs.transform_values { |one| Turns.ratio(one, runs.values.first, :cpu_us) },
        targets: contest.target ? sides.drop(1).map(&:name).grep_v(/YJIT/) : [] }
    end

    private

    def with(sides)
      @sides = sides
      yield self
    end

    def here = sides_of(".", ->(command, environment) { ["env", *environment.map { |pair| pair.join("=") }, *command] })

    def sides_of(checkout, enter)
      asked = ->(*words, **environment) { ask(enter.call(["ruby", *words], environment)) }
      ruby = asked.call("--version")
      has_rails = !asked.call(*RAILS.split, "-e", "puts 1").empty?
      version = ruby[/\d+\.\d+\.\d+/]
      plain = Side.new(name: version, ruby: ruby, checkout: checkout, enter: enter, has_rails: has_rails)
      return [plain] if asked.call(*YJIT.split, "-e", "puts RubyVM::YJIT.enabled?") != "true"

      faster = ->(command, environment) { enter.call(command, { **environment, "RUBYOPT" => YJIT }) }
      [plain, Side.new(**plain.to_h, name: "#{version} with YJIT", enter: faster)]
    end

    def ask(command) = IO.popen(command, err: File::NULL, &:read).strip

    # In release, as it is built here.
    def prepare(other)
      build = "cargo build --release --quiet -p elah --features sql && " if @build
      release = DebianRoot::QUICK_BUILD.transform_values { nil }
      command = ["sh", "-c", "#{build}install #{RELEASE_DIRECTORY}/libelah.so lib/elah/elah.so"]
      DebianRoot.run("Elah was not built on another Ruby", *other.enter(*command, target: TARGET, environment: release))
    end

    def serve(side, contest)
      data = File.join(WORK_DIRECTORY, "rubies-#{side.name.tr(" ", "-")}-#{contest.name}")
      FileUtils.rm_rf(File.join(side.checkout, data))
      url = contest.name == "rails" ? "#{@url}?pool=#{POOL}" : @url
      environment = { "DATABASE_URL" => url, "RAILS_ENV" => "production", "RACK_ENV" => "production" }
      Server.new("rubies-#{contest.name}-#{side.name.tr(" ", "-")}", core: SERVER_CORE, directory: Bench.work_directory) do |port|
        side.enter.call(["exe/elah", "serve", contest.app, "--bind", "tcp://127.0.0.1:#{port}", "--workers", "1", "--data", data,
                         "--store-bytes-max", STORE_BYTES_MAX.to_s], environment)
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
