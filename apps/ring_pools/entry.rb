# frozen_string_literal: true

require_relative "wire_row"

module RingPools
  # A worker's cached data of a pool for bulk requests: the beginning of its requests, and its response without a number.
  class Entry
    # @return [Definition]
    attr_reader :definition
    # @return [String] key of the entity
    attr_reader :key
    # @return [String, nil] the text after the request_id in a row with the overflow number; nil if the pool has none
    attr_reader :overflow

    # @param definition [Definition]
    def initialize(definition)
      @definition = definition
      @key = definition.id.to_s
      @prefix = "#{definition.id}/allocate_number.json?ring_pool_key=#{definition.api_key}&"
      number = definition.overflow
      @session = definition.session_parameter && /(?:\A|&)#{Regexp.escape(definition.session_parameter)}=([^&]*)/
      @overflow = number && "#{WireRow.new(definition.tracking_url).of(number)},\"overflow\":true"
    end

    # Parses a request in the form that the original documents. (Pool, path and key are compared in one step. The comparison stops
    # at the first difference, many bytes at a time, which cannot be measured across a network.)
    #
    # @param suffix [String] an api_suffix
    # @return [String, nil] the parameters; nil when the request is written in another way
    def parameters(suffix)
      suffix.byteslice(@prefix.bytesize, suffix.bytesize).freeze if suffix.start_with?(@prefix) && suffix.bytesize > @prefix.bytesize
    end

    # @param parameters [String] of a request
    # @return [String, nil] the session in them, if the pool defines its parameter
    def session(parameters)
      return unless @session

      session = parameters[@session, 1]
      session if session && session.match?(Definition::SESSION)
    end
  end
end
