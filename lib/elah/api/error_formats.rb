# frozen_string_literal: true

# The formats of errors: Grape's shapes, and problem documents (RFC 9457).
require_relative "standard_library"

module Elah
  module Framework
    # Writers of errors. `call` accepts message (String, Hash or exception), backtrace, options, env and the exception.
    module ErrorFormats
      # `{"error": message}`, or the Hash itself.
      module Json
        def self.call(message, backtrace, options = {}, _env = nil, original = nil)
          message = Elah::Text.utf8(message) if message.is_a?(String)
          document = message.is_a?(Hash) || message.is_a?(Exceptions::ValidationErrors) ? message : { error: message }
          Elah::JSON.generate(ErrorFormats.detailed(document, backtrace, options, original))
        end
      end

      # The message; a Hash as JSON.
      module Text
        def self.call(message, backtrace, options = {}, _env = nil, original = nil)
          text = message.is_a?(Hash) ? Elah::JSON.generate(message) : message.to_s
          text += "\r\n backtrace:#{backtrace.join("\r\n ")}" if ErrorFormats.backtrace?(backtrace, options)
          text += "\r\n original exception:\r\n #{original.inspect}" if options[:original_exception] && original
          text
        end
      end

      # `<error><message>...</message></error>`; a Hash by its keys.
      module Xml
        # The characters of XML 1.0, and those with which names begin and go on there. A name has no colon, since no namespace is declared.
        CHARACTERS = '\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}'
        NAME_START = 'A-Z_a-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C\u200D\u2070-\u218F\u2C00-\u2FEF' \
                     '\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\u{10000}-\u{EFFFF}'
        NO_CHARACTER = /[^#{CHARACTERS}]/
        NO_NAME_CHARACTER = /[^#{NAME_START}.0-9\u00B7\u0300-\u036F\u203F\u2040-]/
        NO_NAME_START = /\A(?![#{NAME_START}])/
        private_constant :CHARACTERS, :NAME_START, :NO_CHARACTER, :NO_NAME_CHARACTER, :NO_NAME_START

        class << self
          def call(message, backtrace, options = {}, _env = nil, original = nil)
            document = message.is_a?(Hash) ? message : { message: message.to_s }
            document = ErrorFormats.detailed(document, backtrace, options, original)
            elements = document.map { |name, value| element(name_of(name), Elah::Text.utf8(value)) }
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<error>\n#{elements.join}</error>\n"
          end

          private

          def element(name, text) = "  <#{name}>#{CGI.escapeHTML(text.gsub(NO_CHARACTER, "\uFFFD"))}</#{name}>\n"

          def name_of(key) = Elah::Text.utf8(key).gsub(NO_NAME_CHARACTER, "_").sub(NO_NAME_START, "_")
        end
      end

      BUILT_IN = { serializable_hash: Json, json: Json, jsonapi: Json, txt: Text, xml: Xml }.freeze

      # @return [Hash] the document with the members that `rescue_from ..., backtrace: true` adds
      def self.detailed(document, backtrace, options, original)
        document = document.merge(backtrace: backtrace) if backtrace?(backtrace, options)
        document = document.merge(original_exception: original.inspect) if options[:original_exception] && original
        document
      end

      def self.backtrace?(backtrace, options) = options[:backtrace] && backtrace && !backtrace.empty?

      # Problem documents.
      module Problem
        CONTENT_TYPE = "application/problem+json"
        RESERVED = %i[detail error message code type title status].freeze
        private_constant :RESERVED

        # @param message [String, Hash] a Hash has detail (or error, or message), code, type, title and extra members
        # @param status [Integer]
        # @param code [String, Symbol, nil] nil derives it from the status
        # @param request_id [String]
        # @param errors [Exceptions::ValidationErrors, nil]
        # @return [String]
        def self.call(message, status, code, request_id, errors = nil)
          given = message.is_a?(Hash) ? message.transform_keys { |key| key.to_s.to_sym } : { detail: message.to_s }
          document = {
            type: given.fetch(:type, "about:blank"), title: given.fetch(:title) { Statuses.phrase(status) },
            status: status, detail: detail(given), code: (given[:code] || code || Statuses.code(status)).to_s,
            request_id: request_id
          }.merge(given.except(*RESERVED))
          document.delete(:detail) if document[:detail].nil?
          document[:errors] = validation_errors(errors) if errors
          Elah::JSON.generate(document)
        end

        def self.detail(given)
          text = given[:detail] || given[:error] || given[:message]
          text.is_a?(String) ? Elah::Text.utf8(text).strip.gsub(/\s+/, " ") : text
        end

        def self.validation_errors(errors)
          errors.map { |params, error| { params: params, message: error.message, code: error.code } }
        end
      end
    end
  end
end
