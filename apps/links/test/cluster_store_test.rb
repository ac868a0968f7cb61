# frozen_string_literal: true

require_relative "store_cases"
require_relative "../stores/embedded"
require "support/servers"

# The store of the shortener on the database of a cluster.
class ClusterStoreTest < Minitest::Test
  include StoreCases

  def setup
    @elah_store = Elah::Store.open(Servers::PostgreSQL.shared.url)
    sql = Elah::SQL.new(Servers::PostgreSQL.shared.url)
    sql.execute("TRUNCATE elah_rows, elah_counts")
    sql.close
    super
  end

  def teardown = @elah_store.close

  private

  def open_store = Links::Stores::Embedded.new(@elah_store)
end
