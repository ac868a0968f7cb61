# frozen_string_literal: true

require "json"
require "securerandom"

module Conformance
  # What stands for {{name}} in a case: {{base}}, {{unique}} (new for each case, so that a contract can be played again
  # and again on one server), {{area}}, {{exchange}} and {{line}} (three digits each, new for each case: the beginning
  # of a telephone number in North America, which one more digit completes), {{time+SECONDS}}, {{time-SECONDS}}, and
  # what `keep` took from answers.
  class Variables
    PATTERN = /\{\{(\w+(?:[+-]\d+)?)\}\}/

    # @param base [String] URL of the server
    def initialize(base:)
      @values = { "base" => base, "unique" => SecureRandom.alphanumeric(12).downcase, "area" => rand(200..999),
                  "exchange" => rand(200..999), "line" => format("%03d", rand(1000)) }
    end

    # @param value [Object] texts, in hashes and arrays too
    # @return [Object] the same with values in the place of names
    def fill(value)
      case value
      when String then value.gsub(PATTERN) { self[Regexp.last_match(1)] }
      when Array then value.map { |one| fill(one) }
      when Hash then value.to_h { |name, one| [fill(name), fill(one)] }
      else value
      end
    end

    # Takes a value from an answer.
    #
    # @param name [String]
    # @param from [String] "json.a.b", "json.list.0.b" or "header.name"
    # @param response [Net::HTTPResponse]
    def keep(name, from, response)
      kind, *path = from.split(".")
      return @values[name] = response[path.join(".")] if kind == "header"

      keys = path.map { |part| Integer(part, exception: false) || part }
      @values[name] = JSON.parse(response.body).dig(*keys)
    end

    private

    def [](name)
      if name.match?(/\Atime[+-]\d+\z/)
        return (Time.now.utc + name.delete_prefix("time").to_i).strftime("%Y-%m-%dT%H:%M:%SZ")
      end

      @values.fetch(name).to_s
    end
  end
end
