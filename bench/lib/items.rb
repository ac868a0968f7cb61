# frozen_string_literal: true

require "json"
require "net/http"
require_relative "../../test/support/servers"
require_relative "multiplied_items"

module Bench
  # Owns the contests of `bench/items`: who stands against whom, with which data.
  class Items
    APP = "apps/items/app.rb"
    RAILS = "bench/apps/items_rails.ru"
    RAILS_MONGO = "bench/apps/items_rails_mongo.ru"
    GRAPE = "apps/items/grape_active_record/config.ru"
    PATH = "/items/random"
    TEN = 10
    SERVERS = { "postgresql" => :PostgreSQL, "mariadb" => :MariaDB, "mongodb" => :MongoJavaServer }.freeze
    # mongo-java-server keeps all in memory, and looks through all for a list of uuids.
    MONGO_ROWS = 5_000
    # Memory for ten million items and their indexes, as on a machine that is meant for them.
    SERVER_SETTINGS = {
      "postgresql" => { "shared_buffers" => "4GB", "max_wal_size" => "8GB" },
      "mariadb" => { "innodb-buffer-pool-size" => "6G", "innodb-log-file-size" => "1G" },
      "mongodb" => {}
    }.freeze
    # Threads of Puma: as many as Rails has by default.
    PUMA_THREADS = 5

    # What is measured, in words, and the least ratio.
    CONTESTS = {
      "embedded" => ["embedded store ÷ bare hyper with as many bytes", 0.50],
      "ten-times" => ["embedded store with ten times the items ÷ with the items", 0.80],
      "postgresql" => ["PostgreSQL ÷ Rails 6.1 and Puma on the same", 5.0],
      "mariadb" => ["MariaDB ÷ Rails 6.1 and Puma on the same", 5.0],
      "mongodb" => ["mongo-java-server with 5,000 items ÷ Rails 6.1, the gem mongo and Puma on the same", 5.0],
      "postgresql-grape" => ["PostgreSQL ÷ Grape and ActiveRecord under Elah", nil],
      "mariadb-grape" => ["MariaDB ÷ Grape and ActiveRecord under Elah", nil],
      "postgresql-ten-times" => ["PostgreSQL with ten times the items ÷ with the items", 0.80],
      "mariadb-ten-times" => ["MariaDB with ten times the items ÷ with the items", 0.80]
    }.freeze
    NAMES = CONTESTS.keys.freeze
    # Those that need no client of a database server.
    EMBEDDED = %w[embedded ten-times].freeze

    # @param timing [Hash] rounds, seconds and warmup, as for Duel
    # @param rows [Integer]
    # @yieldparam line [String] of progress
    def initialize(rows:, **timing, &progress)
      @rows = rows
      @timing = timing
      @progress = progress
      @databases = {}
    end

    # @param name [String] one of NAMES
    # @return [Hash] as Duel#run gives it
    def duel(name)
      kind, what = name.split("-", 2)
      case name
      when "embedded" then contest(name, embedded(@rows), bare)
      when "ten-times" then contest(name, embedded(@rows * TEN), embedded(@rows))
      when "mongodb" then database(name, MONGO_ROWS).then { |url| contest(name, on_server(url), rails_mongo(url)) }
      else
        url = database(kind, @rows)
        other = { nil => -> { rails(url) }, "grape" => -> { grape(url) }, "ten-times" => -> { on_server(url) } }.fetch(what).call
        contest(name, on_server(what == "ten-times" ? database(kind, @rows * TEN) : url), other)
      end
    end

    private

    def contest(name, left, right)
      title, target = CONTESTS.fetch(name)
      workload = Workload.new(name: name, title: title, path: PATH, status: 200, target: target)
      left.run do
        right.run do
          check(left)
          Duel.new(workload, { elah: left, bare: right }, Bench.generators, paths_file: nil, **@timing).run(&@progress)
        end
      end
    end

    # Every answer is an item, and seldom the same.
    def check(server)
      uuids = Array.new(20) do
        answer = Net::HTTP.get_response(URI(server.url(PATH)))
        raise "#{server.name} answered #{answer.code}: #{answer.body}" unless answer.code == "200"

        JSON.parse(answer.body).fetch("uuid")
      end
      raise "#{server.name} draws the same again and again" if uuids.uniq.size < 15
    end

    # The store is kept for the next run.
    def embedded(rows)
      data = File.join(Bench.work_directory, "items-#{rows}")
      load("--data", data, "--rows", rows.to_s)
      Bench.elah(APP, "--data", data, "--store-bytes-max", STORE_BYTES_MAX.to_s, name: "elah-items-#{rows}")
    end

    # Answers as many bytes as an item has on average, in a JSON text of nothing else.
    def bare
      store = embedded(@rows)
      bytes = store.run { Array.new(500) { Net::HTTP.get(URI(store.url(PATH))).bytesize } }
      Bench.bare_hyper(Links.new(Bench.work_directory), "bare_hyper", "--item-bytes", (bytes.sum / bytes.size).to_s)
    end

    def on_server(url) = Bench.elah(APP, "--store", url, name: "elah-items-#{url[/:(\d+)/, 1]}")
    def grape(url) = Bench.elah(GRAPE, name: "grape-items", env: { "ITEMS_DATABASE_URL" => url })

    def rails(url)
      url = "#{url.sub('mysql:', 'mysql2:')}?pool=#{PUMA_THREADS}&prepared_statements=true"
      puma(RAILS, "DATABASE_URL" => url)
    end

    def rails_mongo(url) = puma(RAILS_MONGO, "MONGODB_URL" => url, "RAILS_MAX_THREADS" => PUMA_THREADS.to_s)

    def puma(app, **environment)
      environment = { "RAILS_ENV" => "production", "RACK_ENV" => "production", **environment }
      Server.new("rails-items", core: SERVER_CORE, directory: Bench.work_directory, env: environment) do |port|
        ["puma", "--threads", "#{PUMA_THREADS}:#{PUMA_THREADS}", "--bind", "tcp://127.0.0.1:#{port}", app]
      end
    end

    # A server of its own with so many items, on the generator's core, until this process ends.
    def database(kind, rows)
      @databases[[kind, rows]] ||= begin
        server = ::Servers.const_get(SERVERS.fetch(kind)).start(settings: SERVER_SETTINGS.fetch(kind))
        load("--store", server.url, "--rows", [rows, @rows].min.to_s)
        MultipliedItems.new(server.url, rows: @rows, times: rows / @rows).run if rows > @rows
        Bench.pin(server.pid, GENERATOR_CORE)
        server.url
      end
    end

    def load(*arguments)
      Bench.run("apps/items/load", *arguments, out: File::NULL)
    end
  end
end
