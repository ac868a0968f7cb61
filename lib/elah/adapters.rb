# frozen_string_literal: true

module Elah
  # Fits gems that were not made for fibers into the loop. `elah serve` does it for the gems that the app has loaded, unless the
  # option `adapters` is off; a program that calls `Elah.run` says `Elah::Adapters.install`.
  module Adapters
    autoload :ActiveRecord, "elah/adapters/active_record"
    autoload :Meaning, "elah/adapters/meaning"
    autoload :Mysql2, "elah/adapters/mysql2"
    autoload :SQLite3, "elah/adapters/sqlite3"

    # The gems that there are adapters for.
    ALL = %i[ActiveRecord Mysql2 SQLite3].freeze

    # Fits in every gem that is loaded and has not been fitted in yet.
    #
    # @return [Array<Symbol>] which of {ALL} are in use
    def self.install = ALL.select { |name| const_get(name).install }
  end
end
