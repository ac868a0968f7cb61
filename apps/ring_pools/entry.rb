# frozen_string_literal: true

require_relative "wire_row"

module RingPools
  # What a worker keeps of a pool for bulk requests: how its requests begin, and its response when there is no number.
  class Entry
    # @return [Definition]
    attr_reader :definition
    # @return [String] key of the entity
    attr_reader :key
    # @return [String, nil] what follows the request_id in a row with the overflow number; nil when the pool has none
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

    # Reads a request that is written as the original documents it. (Pool, path and key are compared in one go. The comparison ends at the first
    # difference, many bytes at a time: across a network that cannot be measured.)
    #
    # @param suffix [String] an api_suffix
    # @return [String, nil] the parameters; nil when the request is written in another way
    def parameters(suffix)
      suffix.byteslice(@prefix.bytesize, suffix.bytesize).freeze if suffix.start_with?(@prefix) && suffix.bytesize > @prefix.bytesize
    end

    # @param parameters [String] of a request
    # @return [String, nil] the session that they name, if the pool was told where to look
    def session(parameters)
      return unless @session

      session = parameters[@session, 1]
      session if session && session.match?(Definition::SESSION)
    end
  end
end
