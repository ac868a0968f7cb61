# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require "support/elah_server"
require "support/patience"
require "support/request_burst"
require "support/servers"
require "support/records_case"

# Owns the start of the Rails API in test/support/apps/rails_api. RecordsCase's tests are left out.
module RailsApi
  include Patience

  FOLDER = File.expand_path("apps/rails_api", __dir__)
  POOL = 20
  LOG = File.join(Dir.tmpdir, "elah-rails-api-#{Process.pid}.log")

  # @return [String] DATABASE_URL
  def self.url(adapter, **options)
    return "sqlite3:#{options.fetch(:file)}" if adapter == "sqlite3"

    RecordsCase.url(adapter, RecordsCase::DATABASES.fetch(adapter).shared, pool: POOL, checkout_timeout: 60, **options)
  end

  # @return [Hash{String=>String}] of a process that runs the app
  def self.env(adapter = "postgresql", **database)
    { "DATABASE_URL" => url(adapter, **database), "CREATE_TABLES" => "1" }
  end

  # Copies the app, so that a test may change its files, and what Rails writes beside it does not stay.
  #
  # @yieldparam folder [String]
  def with_copy
    Dir.mktmpdir("elah-rails-api") do |folder|
      FileUtils.cp_r("#{FOLDER}/.", folder)
      yield folder
    end
  end

  # @param adapter [String] of ActiveRecord
  # @param database [Hash] its options
  # @param env [Hash] added to the environment
  # @param options [Hash] of Elah
  # @yieldparam server [ElahServer]
  def serve(adapter = "postgresql", database: {}, env: {}, folder: FOLDER, **options, &block)
    env = RailsApi.env(adapter, **database).merge(env)
    ElahServer.start(File.join(folder, "config.ru"), env: env, **options, &block)
  end

  # @return [ElahServer] one on PostgreSQL for the whole process: a start of Rails takes seconds
  def shared_server = RailsApi.shared_server

  def self.shared_server
    @shared_server ||=
      ElahServer.start(File.join(FOLDER, "config.ru"), env: env.merge("LOG_FILE" => LOG)).tap do |server|
        Minitest.after_run do
          server.stop
          FileUtils.rm_f(LOG)
        end
      end
  end

  # Connections come back a moment after the response was read. Those who wait for one of a request that was broken off
  # wait until it has been replaced, while none is in use.
  def assert_nothing_leaked(server)
    stat = nil
    wait_until("all connections are back") { (stat = server.get("/pool").json).values_at("busy", "waiting") == [0, 0] }
    assert_equal 0, stat["dead"]
  end
end
