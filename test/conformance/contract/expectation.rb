# frozen_string_literal: true

require "json"

module Conformance
  # Compares an answer with what a case says of it. Headers and members that the case does not name may be anything.
  class Expectation
    KINDS = {
      "<any>" => ->(_) { true },
      "<string>" => ->(value) { value.is_a?(String) },
      "<integer>" => ->(value) { value.is_a?(Integer) },
      "<time>" => ->(value) { value.is_a?(String) && value.match?(/\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\z/) }
    }.freeze
    ABSENT = "<absent>"
    REGEXP = "=~ "

    # @param expected [Hash] status, headers, json, ndjson, body
    def initialize(expected)
      @expected = expected
    end

    # @param response [Net::HTTPResponse]
    # @return [String, nil] the first difference
    def failure(response)
      return "status is not #{@expected['status']}" unless @expected.fetch("status") == response.code.to_i

      headers_failure(response) || document_failure(response.body.to_s)
    end

    private

    def headers_failure(response)
      (@expected["headers"] || {}).each do |name, value|
        found = difference(value, response[name] || ABSENT, "header #{name}")
        return found if found
      end
      nil
    end

    def document_failure(body)
      return difference(@expected["body"], body.dup.force_encoding("UTF-8"), "body") if @expected.key?("body")
      return difference(@expected["json"], JSON.parse(body), "json") if @expected.key?("json")
      return unless @expected.key?("ndjson")

      difference(@expected["ndjson"], body.each_line.map { |line| JSON.parse(line) }, "ndjson")
    rescue JSON::ParserError
      "the body is not JSON"
    end

    def difference(expected, found, place)
      case expected
      when Hash then hash_difference(expected, found, place)
      when Array then array_difference(expected, found, place)
      when /\A#{REGEXP}/o
        unless found.to_s.match?(expected.delete_prefix(REGEXP))
          "#{place} is #{found.inspect}, which does not match #{expected}"
        end
      when *KINDS.keys
        "#{place} is #{found.inspect}, not #{expected}" if found == ABSENT || !KINDS[expected].call(found)
      else "#{place} is #{found.inspect}, not #{expected.inspect}" unless expected == found
      end
    end

    def hash_difference(expected, found, place)
      return "#{place} is #{found.inspect}, not an object" unless found.is_a?(Hash)

      expected.each do |name, value|
        failure = difference(value, found.fetch(name, ABSENT), "#{place}.#{name}")
        return failure if failure
      end
      nil
    end

    def array_difference(expected, found, place)
      return "#{place} is #{found.inspect}, not a list" unless found.is_a?(Array)
      unless found.size == expected.size
        return "#{place} has #{found.size} members, not #{expected.size}: #{found.inspect}"
      end

      expected.each_index do |index|
        failure = difference(expected[index], found[index], "#{place}[#{index}]")
        return failure if failure
      end
      nil
    end
  end
end
