# frozen_string_literal: true

module Items
  # The choice of the store. All stores have the public methods of {Embedded}.
  module Stores
    CHOICE = Elah::StoreChoice.new(self, File.join(__dir__, "stores"),
                                   { "embedded" => :Embedded, "mongodb" => :Mongo, "mysql" => :SQL, "postgres" => :SQL })

    # @param config [Elah::Config] or whatever else has its `store`, `data` and `store_bytes_max`
    # @return [Embedded] or another store with the same methods
    # @raise [Elah::OptionError] when there is no such store, or this build has no client for it
    def self.open(config) = CHOICE.open(config)
  end
end
