# frozen_string_literal: true

require_relative "store_cases"
require_relative "../stores/embedded"
require "support/replaced_method"
require "support/servers"

# The store of the shortener on the database of a cluster.
class ClusterStoreTest < Minitest::Test
  include ReplacedMethod
  include StoreCases

  def setup
    @elah_store = Elah::Store.open(Servers::PostgreSQL.shared.url)
    sql = Elah::SQL.new(Servers::PostgreSQL.shared.url)
    sql.execute("TRUNCATE elah_rows, elah_counts")
    sql.close
    super
  end

  def teardown = @elah_store.close

  # It used to be that of each machine.
  def test_links_expire_by_the_clock_of_the_database
    right = Links::Timestamp.now
    replacing(Links::Timestamp, :now, -> { 0 }) { assert_in_delta right, @store.now, 60_000 }
  end

  private

  def open_store = Links::Stores::Embedded.open(Elah::Config.build(cluster: Servers::PostgreSQL.shared.url))
end
