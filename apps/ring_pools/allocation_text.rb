# frozen_string_literal: true

require_relative "e164"
require_relative "wire_row"

module RingPools
  # The three formats of an allocation in the original's API.
  class AllocationText
    TYPES = { "json" => "application/json", "xml" => "application/xml", "csv" => "text/csv" }.freeze
    ENTITIES = { "&" => "&amp;", "<" => "&lt;", ">" => "&gt;" }.freeze
    HEAD = %(<?xml version="1.0" encoding="UTF-8"?>\n)

    # @param format [String] xml, json or csv
    def initialize(format)
      @format = format
    end

    # @return [String] media type
    def type = TYPES.fetch(@format)

    # @return [String] media type of an error, which exists in XML only
    def error_type = @format == "xml" ? type : "text/plain"

    # @param definition [Definition]
    # @param number [Integer]
    # @return [String]
    def number(definition, number)
      formatted = E164.formatted(number)
      national = E164.national(number)
      url = WireRow.new(definition.tracking_url).url(number)
      case @format
      when "json" then Elah::JSON.generate({ promo_number_formatted: formatted, tracking_url: url, promo_number: national })
      when "csv" then "PromoNumberFormatted,PromoNumber,TrackingUrl\n#{formatted},#{national},#{cell(url)}\n"
      else xml("Response", PromoNumberFormatted: formatted, PromoNumber: national, TrackingUrl: url)
      end
    end

    # @param error_class [String]
    # @param message [String]
    # @return [String]
    def error(error_class, message)
      @format == "xml" ? xml("Error", Class: error_class, Message: message) : "#{error_class}: #{message}"
    end

    private

    def xml(name, **elements)
      lines = elements.map { |element, text| "  <#{element}>#{text.gsub(/[&<>]/, ENTITIES)}</#{element}>\n" }
      "#{HEAD}<#{name}>\n#{lines.join}</#{name}>\n"
    end

    def cell(text) = text.match?(/[",\n]/) ? "\"#{text.gsub('"', '""')}\"" : text
  end
end
