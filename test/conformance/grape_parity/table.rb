# frozen_string_literal: true

require "json"
require "yaml"

# Owns how requests.yml is read: requests that stand for many are written out.
module ParityTable
  CONTENT = YAML.safe_load(File.read(File.join(__dir__, "requests.yml")), aliases: true).freeze

  BOUNDARY = "parity-boundary"
  HEADERS = %w[content-type location allow set-cookie www-authenticate cache-control x-cascade].freeze

  class << self
    # @param headers [Enumerable<Array(String, String)>]
    # @return [Hash{String=>Array<String>}] those that matter, by lower-case name
    def relevant(headers)
      headers.each_with_object({}) do |(name, value), kept|
        name = name.downcase
        next unless HEADERS.include?(name) || name.start_with?("x-")

        (kept[name] ||= []).concat(Array(value).flat_map { |part| part.to_s.split("\n") })
      end.sort.to_h
    end

    # @return [Hash{String=>String}] why Elah differs, by key
    def reasons = CONTENT.fetch("reasons").transform_values(&:strip)

    # @return [String] the reasons as the list that docs/api.md shows
    def documented_reasons = reasons.values.map { |reason| "- #{reason}\n" }.join

    # @return [Array<Array(String, Hash)>] the name of an API and a request, in order
    def requests
      CONTENT.except("reasons").flat_map { |api, rows| rows.flat_map { |row| expand(row) }.map { |row| [api, row] } }
    end

    # @return [Array(String, String)] the body of a request and its Content-Type, nil where there is none
    def content(request)
      return [JSON.generate(request["json"]), "application/json"] if request.key?("json")
      return [request["form"], "application/x-www-form-urlencoded"] if request.key?("form")
      return [multipart(request["upload"]), "multipart/form-data; boundary=#{BOUNDARY}"] if request.key?("upload")

      [request["body"], request["type"]]
    end

    private

    def multipart(parts)
      parts.map do |name, part|
        disposition = "--#{BOUNDARY}\r\nContent-Disposition: form-data; name=\"#{name}\""
        next "#{disposition}\r\n\r\n#{part}\r\n" unless part.is_a?(Hash)

        "#{disposition}; filename=\"#{part['name'].gsub('"', '%22')}\"\r\n" \
          "Content-Type: #{part['type']}\r\n\r\n#{part['content']}\r\n"
      end.join << "--#{BOUNDARY}--\r\n"
    end

    def expand(row)
      return [{ "ask" => row }] if row.is_a?(String)
      return [row] unless row["each"]

      row["each"].product(row["with"]).map { |subject, value| written_out(row, subject, value) }
    end

    # The value goes into the body if there is one, else into the request line.
    def written_out(row, subject, value)
      rest = row.except("each", "with", "ask")
      return rest.merge("ask" => format(row["ask"], subject), "body" => format(row["body"], value)) if row["body"]

      rest.merge("ask" => format(row["ask"], subject, value).delete_suffix("?"))
    end
  end
end

puts ParityTable.documented_reasons if $PROGRAM_NAME == __FILE__
