# frozen_string_literal: true

require_relative "credentials"
require_relative "errors"
require_relative "failure"

module RingPools
  # A bulk request: the pool of each row, and the response in the order of the rows.
  class BulkRequest
    ROWS_MAX = 1000
    LISTS = %w[requests request].freeze
    # The first bytes of an ID that are read as the number of its pool.
    ID_BYTES_MAX = 10
    # An ID that needs no escaping in JSON.
    PLAIN_ID = /\A[\w-]{1,64}\z/

    # @param body [String]
    # @return [Array<Object>] the rows
    # @raise [Invalid]
    def self.rows(body)
      fields = Elah::JSON.parse(body)
      rows = fields.values_at(*LISTS).find { |list| list.is_a?(Array) } if fields.is_a?(Hash)
      raise Invalid.new("invalid_requests", "The body must be an object with a list of requests.") unless rows
      return rows if rows.size.between?(1, ROWS_MAX)

      raise Invalid.new("invalid_requests", "There must be 1 to #{ROWS_MAX} requests, not #{rows.size}.")
    rescue Elah::JSON::ParseError => e
      raise Invalid.new("invalid_json", e.message)
    end

    # @return [Hash{String=>Integer}] how many rows got the overflow number, by reason
    attr_reader :reasons

    # @param service [Service]
    # @param rows [Array<Object>]
    # @param header_key [String, nil] a key that came in a header, for rows without one
    def initialize(service, rows, header_key)
      @service = service
      @directory = service.directory
      @rows = rows
      @header_key = header_key
      @reasons = {}
    end

    # @return [String] the response as JSON
    def response
      @directory.refresh
      noted = @rows.map { |row| note(row) }
      calls = noted.grep(Array)
      results = @service.scatter(calls)
      row = call = -1
      texts = noted.map { |each| show(@rows[row += 1], each.is_a?(String) ? each : members(calls[call += 1], results[call])) }
      "{\"responses\":[#{texts.join(',')}]}"
    end

    private

    # @return [Array, String] the call of a row, or the members of the response that describe its error
    def note(row)
      suffix = row["api_suffix"] if row.is_a?(Hash)
      suffix.is_a?(String) or raise Failure.new("InvalidRequest", Credentials::SUFFIX_RULE)
      entry = @directory[suffix.byteslice(0, ID_BYTES_MAX).to_i]
      parameters = entry&.parameters(suffix)
      entry, parameters = Credentials.read(suffix, @directory, @service.api_key, @header_key) unless parameters
      raise Failure.new("InvalidRequest", Credentials::PARAMETERS_RULE) if parameters.bytesize > Credentials::PARAMETERS_BYTES_MAX

      [entry.key, :allocate_row, entry.session(parameters), parameters]
    rescue Failure => e
      failure(e.error_class, e.message)
    end

    # @param members [String] of the row of the response
    # @return [String]
    def show(row, members)
      id = row["request_id"] if row.is_a?(Hash)
      return "{#{members}}" if id.nil?
      return "{\"request_id\":\"#{id}\",#{members}}" if id.is_a?(String) && id.match?(PLAIN_ID)

      "{\"request_id\":#{Elah::JSON.generate(id)},#{members}}"
    end

    def members(call, result) = result.is_a?(String) ? result : without_number(call.first, result)

    # @param key [String] of the pool
    # @param result [Symbol, Exception] of the pool: why there is no number
    # @return [String] the members of the row
    def without_number(key, result)
      reason = result.is_a?(Symbol) ? result.name : Failure.reason(result)
      return failure("InternalServiceError", Failure.handle(result).to_s) unless reason

      @reasons[reason] = @reasons.fetch(reason, 0) + 1
      @directory[key.to_i]&.overflow || failure("NoNumberAvailable", "No number of RingPool '#{key}' is free (#{reason})")
    end

    def failure(error_class, message) = "\"error_class\":\"#{error_class}\",\"message\":#{Elah::JSON.generate(message)}"
  end
end
