# frozen_string_literal: true

require_relative "credentials"
require_relative "errors"
require_relative "failure"

module RingPools
  # Owns the rows of one bulk request: which number each asks for, who is to give it, and the answer in the order of the rows.
  class BulkRequest
    ROWS_MAX = 1000
    LISTS = %w[requests request].freeze

    # @param body [String]
    # @return [Elah::JSON::Rows]
    # @raise [Invalid]
    def self.rows(body)
      rows = Elah::JSON::Rows.read(body, lists: LISTS, member: "api_suffix", echo: "request_id")
      raise Invalid.new("invalid_requests", "The body is an object with a list of requests.") unless rows
      return rows if rows.size.between?(1, ROWS_MAX)

      raise Invalid.new("invalid_requests", "There are 1 to #{ROWS_MAX} requests, not #{rows.size}.")
    rescue Elah::JSON::ParseError => e
      raise Invalid.new("invalid_json", e.message)
    end

    # @return [Hash{String=>Integer}] how many rows got the overflow number, by reason
    attr_reader :reasons

    # @param service [Service]
    # @param rows [Elah::JSON::Rows]
    # @param header_key [String, nil] a key that came in a header, for rows without one
    def initialize(service, rows, header_key)
      @service = service
      @directory = service.directory
      @rows = rows
      @header_key = header_key
      @failures = {}
      @reasons = {}
    end

    # @return [String] the answer as JSON
    def answer
      @directory.refresh
      @calls = Elah::Entity::CallColumns.of(:allocate_row, texts: 2, arguments: [@service.clock.now])
      prepare
      answers = @service.scatter(@calls)
      return @rows.answer("responses", answers) { |answer, call| without_number(@calls.key(call), answer) } if @failures.empty?

      @rows.answer("responses", merged(answers))
    end

    private

    # Notes the calls that the rows ask for. Those that are written as in the original's documentation are noted natively: pool, path and
    # key are compared in one go with what they must be for the pool. (The comparison ends at the first difference, many bytes at a
    # time: across a network that cannot be measured.)
    def prepare
      row = 0
      while (row = @rows.add_calls(row, @directory.beginnings, @calls, Credentials::PARAMETERS_BYTES_MAX)) < @rows.size
        failure = note(row)
        @failures[row] = failure if failure
        row += 1
      end
    end

    # @param row [Integer]
    # @return [String, nil] the members of the answer when something is wrong with the row
    def note(row)
      id = @rows.number(row)
      entry = @directory[id] if id
      parameters = @rows.rest(row, entry.prefix) if entry
      entry, parameters = read(row) unless parameters
      return failure("InvalidRequest", Credentials::PARAMETERS_RULE) if parameters.bytesize > Credentials::PARAMETERS_BYTES_MAX

      @calls.add(entry.key, entry.session(parameters), parameters)
      nil
    rescue Failure => e
      failure(e.error_class, e.message)
    end

    # @return [Array(Entry, String)] the pool, and the parameters
    # @raise [Failure]
    def read(row)
      suffix = @rows.text(row) or raise Failure.new("InvalidRequest", Credentials::SUFFIX_RULE)
      Credentials.read(suffix, @directory, @service.api_key, @header_key)
    end

    # @return [Array<String>] the members of each row of the answer
    def merged(answers)
      texts = answers.each_with_index.map { |answer, call| answer.is_a?(String) ? answer : without_number(@calls.key(call), answer) }
      Array.new(@rows.size) { |row| @failures[row] || texts.shift }
    end

    # @param key [String] of the pool
    # @param answer [Symbol, Exception] of the pool: why there is no number
    # @return [String] the members of the row
    def without_number(key, answer)
      reason = answer.is_a?(Symbol) ? answer.name : Failure.reason(answer)
      return failure("InternalServiceError", Failure.handle(answer).to_s) unless reason

      @reasons[reason] = @reasons.fetch(reason, 0) + 1
      @directory[key.to_i]&.overflow || failure("NoNumberAvailable", "No number of RingPool '#{key}' is free (#{reason})")
    end

    def failure(error_class, message) = "\"error_class\":\"#{error_class}\",\"message\":#{Elah::JSON.generate(message)}"
  end
end
