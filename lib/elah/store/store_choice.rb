# frozen_string_literal: true

require_relative "../errors"

module Elah
  # The stores that an app supports. The option `store` selects one: `embedded`, or the URL of a server. Only the file of the selected one is
  # loaded.
  #
  # @example
  #   STORES = Elah::StoreChoice.new(Shop::Stores, File.join(__dir__, "stores"), "embedded" => :Embedded, "postgres" => :SQL)
  #   store = STORES.open(Elah.config)   # Shop::Stores::SQL.open(config), from stores/sql.rb, for --store postgres://HOST/shop
  class StoreChoice
    # @param namespace [Module] module of the classes
    # @param folder [String] folder of their files, which have the names of the classes in lower case
    # @param kinds [Hash{String=>Symbol}] `embedded` or the scheme of a URL => a class that has `open(config)`
    def initialize(namespace, folder, kinds)
      @namespace = namespace
      @folder = folder
      @kinds = kinds
    end

    # @param config [Elah::Config] or another object with `store` and the options that the stores read
    # @return [Object] the result of the selected class
    # @raise [Elah::OptionError] when the app does not support the store, or this build has no client for it
    def open(config)
      name = @kinds.fetch(config.store[/\A[^:]*/]) { |kind| raise OptionError, "store must be #{expectation}, not #{kind}." }
      require File.join(@folder, name.downcase.to_s)
      @namespace.const_get(name).open(config)
    end

    private

    def expectation
      urls = (@kinds.keys - ["embedded"]).map { |scheme| "#{scheme}://" }
      ["embedded", *("a URL that begins with #{urls.join(', ')}" if urls.any?)].join(" or ")
    end
  end
end
