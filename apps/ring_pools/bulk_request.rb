# frozen_string_literal: true

require_relative "credentials"
require_relative "errors"
require_relative "failure"

module RingPools
  # Owns the rows of one bulk request: which number each asks for, who is to give it, and the answer in the order of the rows.
  class BulkRequest
    ROWS_MAX = 1000
    # What a row of the answer has or less, so that the answer seldom moves as it grows.
    ROW_BYTES = 256
    # What a row with a number begins with; reasons of overflows are words.
    QUOTE = '"'.ord

    # @param body [String]
    # @return [Array] the rows as they were sent
    # @raise [Invalid]
    def self.rows(body)
      parsed = Elah::JSON.parse(body)
      rows = parsed.is_a?(Hash) ? parsed["requests"] || parsed["request"] : nil
      raise Invalid.new("invalid_requests", "The body is an object with a list of requests.") unless rows.is_a?(Array)
      return rows if rows.size.between?(1, ROWS_MAX)

      raise Invalid.new("invalid_requests", "There are 1 to #{ROWS_MAX} requests, not #{rows.size}.")
    rescue Elah::JSON::ParseError => e
      raise Invalid.new("invalid_json", "The body is no JSON: #{e.message}")
    end

    # @return [Hash{String=>Integer}] how many rows got the overflow number, by reason
    attr_reader :reasons

    # @param service [Service]
    # @param rows [Array]
    # @param header_key [String, nil] a key that came in a header, for rows without one
    def initialize(service, rows, header_key)
      @service = service
      @directory = service.directory
      @rows = rows
      @header_key = header_key
      @entries = []
      @calls = []
      @reasons = {}
    end

    # @return [String] the answer as JSON
    def answer
      @directory.refresh
      failures = @rows.map { |row| prepare(row) }
      given = @service.scatter(@calls)
      asked = -1
      out = String.new('{"responses":[', capacity: ROW_BYTES * @rows.size)
      beginning = "{"
      @rows.each_with_index do |row, index|
        id = row["request_id"] if row.is_a?(Hash)
        out << beginning
        out << '"request_id":' << Elah::JSON.generate(id) << "," unless id.nil?
        out << (failures[index] || members(@entries[asked += 1], given[asked]))
        beginning = "},{"
      end
      out << "}]}"
    end

    private

    # Notes the call that a row asks for. One that is written as in the original's documentation costs a few looks: pool, path and key are
    # compared in one go with what they must be for the pool. (The comparison ends at the first difference, many bytes at a time: across
    # a network that cannot be measured.)
    #
    # @return [String, nil] the members of the answer when something is wrong with the row
    def prepare(row)
      suffix = row["api_suffix"] if row.is_a?(Hash)
      return failure("InvalidRequest", Credentials::SUFFIX_RULE) unless suffix.is_a?(String)

      entry = @directory[suffix.to_i]
      if entry && suffix.start_with?(entry.prefix) && suffix.bytesize > entry.prefix_bytes
        parameters = suffix.byteslice(entry.prefix_bytes, suffix.bytesize)
      else
        entry, parameters = Credentials.read(suffix, @directory, @service.api_key, @header_key)
      end
      return failure("InvalidRequest", Credentials::PARAMETERS_RULE) if parameters.bytesize > Credentials::PARAMETERS_BYTES_MAX

      @entries << entry
      @calls << [entry.key, :allocate_row, entry.session(parameters), parameters]
      nil
    rescue Failure => e
      failure(e.error_class, e.message)
    end

    # @param answer [String, Exception] of the pool
    # @return [String]
    def members(entry, answer)
      is_text = answer.is_a?(String)
      return answer if is_text && answer.getbyte(0) == QUOTE

      reason = is_text ? answer : Failure.reason(answer)
      return failure("InternalServiceError", Failure.handle(answer).to_s) unless reason

      @reasons[reason] = @reasons.fetch(reason, 0) + 1
      entry.overflow || failure("NoNumberAvailable", "No number of RingPool '#{entry.key}' is free (#{reason})")
    end

    def failure(error_class, message) = "\"error_class\":\"#{error_class}\",\"message\":#{Elah::JSON.generate(message)}"
  end
end
