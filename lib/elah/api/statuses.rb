# frozen_string_literal: true

# The names of HTTP statuses: the phrase of a number and the number of a symbol.
module Elah
  module Framework
    # HTTP statuses of RFC 9110 and its extensions, by number.
    module Statuses
      PHRASES = {
        100 => "Continue", 101 => "Switching Protocols", 102 => "Processing", 103 => "Early Hints",
        200 => "OK", 201 => "Created", 202 => "Accepted", 203 => "Non-Authoritative Information", 204 => "No Content",
        205 => "Reset Content", 206 => "Partial Content", 207 => "Multi-Status", 208 => "Already Reported",
        226 => "IM Used",
        300 => "Multiple Choices", 301 => "Moved Permanently", 302 => "Found", 303 => "See Other",
        304 => "Not Modified", 305 => "Use Proxy", 307 => "Temporary Redirect", 308 => "Permanent Redirect",
        400 => "Bad Request", 401 => "Unauthorized", 402 => "Payment Required", 403 => "Forbidden", 404 => "Not Found",
        405 => "Method Not Allowed", 406 => "Not Acceptable", 407 => "Proxy Authentication Required",
        408 => "Request Timeout", 409 => "Conflict", 410 => "Gone", 411 => "Length Required",
        412 => "Precondition Failed", 413 => "Payload Too Large", 414 => "URI Too Long",
        415 => "Unsupported Media Type", 416 => "Range Not Satisfiable", 417 => "Expectation Failed",
        421 => "Misdirected Request", 422 => "Unprocessable Entity", 423 => "Locked", 424 => "Failed Dependency",
        425 => "Too Early", 426 => "Upgrade Required", 428 => "Precondition Required", 429 => "Too Many Requests",
        431 => "Request Header Fields Too Large", 451 => "Unavailable for Legal Reasons",
        500 => "Internal Server Error", 501 => "Not Implemented", 502 => "Bad Gateway", 503 => "Service Unavailable",
        504 => "Gateway Timeout", 505 => "HTTP Version Not Supported", 506 => "Variant Also Negotiates",
        507 => "Insufficient Storage", 508 => "Loop Detected", 510 => "Not Extended",
        511 => "Network Authentication Required"
      }.freeze

      # snake_case name, as a String => number
      NUMBERS = PHRASES.to_h { |number, phrase| [phrase.downcase.gsub(/[ -]/, "_"), number] }
                       .merge("content_too_large" => 413, "unprocessable_content" => 422).freeze
      CODES = PHRASES.transform_values { |phrase| phrase.downcase.gsub(/[ -]/, "_").freeze }.freeze

      # @param status [Integer]
      # @return [Boolean] whether a response with this status never has a body
      def self.bodiless?(status) = status == 204 || status == 205 || status == 304 || status < 200

      # @param name [Symbol] e.g. :not_found
      # @return [Integer]
      # @raise [ArgumentError]
      def self.number(name)
        NUMBERS.fetch(name.name) { raise ArgumentError, "Status code :#{name} is invalid." }
      end

      # @return [String] the snake_case code of a status, e.g. "not_found"
      def self.code(status) = CODES.fetch(status) { "status_#{status}" }

      # @return [String] the phrase of a status, e.g. "Not Found"
      def self.phrase(status) = PHRASES.fetch(status) { "Status #{status}" }
    end
  end
end
