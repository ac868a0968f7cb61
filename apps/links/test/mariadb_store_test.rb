# frozen_string_literal: true

require_relative "sql_store_cases"

# The store of the shortener on MariaDB.
class MariaDBStoreTest < Minitest::Test
  include SQLStoreCases

  def server = Servers::MariaDB.shared
end
