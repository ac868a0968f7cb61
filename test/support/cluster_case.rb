# frozen_string_literal: true

require_relative "patience"
require_relative "servers"

# A test with a store in a database of PostgreSQL, one for each test class.
class ClusterCase < Minitest::Test
  include Patience

  class << self
    # @return [String] the URL of a database of this class
    def url = @url ||= create_database

    private

    def create_database
      name = "store_#{object_id}"
      admin = Elah::SQL.new(server.url, connections_max: 1)
      admin.execute("CREATE DATABASE #{name}")
      admin.close
      server.url.sub(/\w+\z/, name)
    end

    def server = Servers::PostgreSQL.shared
  end

  def setup
    @store = Elah::Store.open(url, sweep_seconds: 3600)
    @sql = Elah::SQL.new(url, connections_max: 1, pool_seconds: patience_seconds)
    @sql.execute("TRUNCATE elah_rows, elah_counts")
    @table = @store.table("links")
    @counter = @store.counter("visits")
  end

  def teardown
    @store.close
    @sql.close
  end

  def url = self.class.url
  def server = Servers::PostgreSQL.shared

  # Lets time pass for what expires.
  def let_pass(seconds) = @sql.execute("UPDATE elah_rows SET expires_at = expires_at - ?", (seconds * 1000).round)

  # The same store by another call of `open`.
  def open_again = Elah::Store.open(url, sweep_seconds: 3600)
end
