# frozen_string_literal: true

module Links
  # The choice of the store. All stores have the public methods of {Embedded}.
  module Stores
    REDIS = %w[redis rediss redis+cluster rediss+cluster redis+unix].freeze
    CHOICE = Elah::StoreChoice.new(self, File.join(__dir__, "stores"),
                                   { "embedded" => :Embedded, "mongodb" => :Mongo, **REDIS.to_h { |scheme| [scheme, :Redis] },
                                     "mysql" => :SQL, "postgres" => :SQL })

    # @param config [Elah::Config]
    # @return [Embedded] or another store with the same methods
    # @raise [Elah::OptionError] when there is no such store, or this build has no client for it
    def self.open(config) = CHOICE.open(config)
  end
end
