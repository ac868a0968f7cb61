# frozen_string_literal: true

require_relative "errors"

module Elah
  # The stores that an app can keep its state in, of which the option `store` chooses one: `embedded`, or the URL of a server. The
  # file of the one that is chosen is loaded, the others are not.
  #
  # @example
  #   STORES = Elah::StoreChoice.new(Shop::Stores, File.join(__dir__, "stores"), "embedded" => :Embedded, "postgres" => :SQL)
  #   store = STORES.open(Elah.config)   # Shop::Stores::SQL.open(config), from stores/sql.rb, for --store postgres://HOST/shop
  class StoreChoice
    # @param namespace [Module] that the classes are in
    # @param folder [String] of their files, which have the names of the classes in lower case
    # @param kinds [Hash{String=>Symbol}] `embedded` or the scheme of a URL => a class that has `open(config)`
    def initialize(namespace, folder, kinds)
      @namespace = namespace
      @folder = folder
      @kinds = kinds
    end

    # @param config [Elah::Config] or whatever else has its `store`, and what the stores read of it
    # @return [Object] what the chosen class opened
    # @raise [Elah::OptionError] when there is no such store, or this build has no client for it
    def open(config)
      name = @kinds.fetch(config.store[/\A[^:]*/]) { |kind| raise OptionError, "store must be #{expectation}; #{kind} is none of them." }
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
