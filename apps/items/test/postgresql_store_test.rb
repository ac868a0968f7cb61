# frozen_string_literal: true

require_relative "sql_store_checks"

# The store on PostgreSQL.
class ItemsPostgreSQLStoreTest < Minitest::Test
  include SQLStoreChecks

  def server = Servers::PostgreSQL.shared
end
