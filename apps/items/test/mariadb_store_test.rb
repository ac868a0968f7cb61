# frozen_string_literal: true

require_relative "sql_store_checks"

# The store on MariaDB.
class ItemsMariaDBStoreTest < Minitest::Test
  include SQLStoreChecks

  def server = Servers::MariaDB.shared
end
