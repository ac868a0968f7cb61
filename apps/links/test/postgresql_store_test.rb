# frozen_string_literal: true

require_relative "sql_store_cases"

# The store of the shortener on PostgreSQL.
class PostgreSQLStoreTest < Minitest::Test
  include SQLStoreCases

  def server = Servers::PostgreSQL.shared
end
