# frozen_string_literal: true

module Elah
  # Text out of Strings of any origin: an exception's message, a reason, a header. What it returns can be joined with any other UTF-8 text,
  # written as JSON and logged.
  module Text
    # Control characters, and the line separators of Unicode.
    CONTROL = /[[:cntrl:]\u2028\u2029]/.freeze
    ESCAPES = { "\n" => '\n', "\r" => '\r', "\t" => '\t', "\e" => '\e' }.freeze
    MODULE_NAME = Module.instance_method(:name)
    private_constant :CONTROL, :ESCAPES, :MODULE_NAME

    class << self
      # @param value [#to_s]
      # @return [String] valid UTF-8. Another encoding is converted, bytes without an encoding are read as UTF-8, and U+FFFD replaces invalid bytes
      def utf8(value)
        text = value.to_s
        return text if text.encoding == Encoding::UTF_8 && text.valid_encoding?

        bytes?(text) ? text.dup.force_encoding(Encoding::UTF_8).scrub : text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
      rescue EncodingError
        text.dup.force_encoding(Encoding::UTF_8).scrub
      end

      # @param value [#to_s]
      # @return [String] valid UTF-8 on one line, which a terminal only shows: control characters are escaped
      def printable(value)
        text = utf8(value)
        text.match?(CONTROL) ? text.gsub(CONTROL) { |character| ESCAPES[character] || format('\u%04X', character.ord) } : text
      end

      # @param string [String] a name of which only the bytes count
      # @return [String] the same bytes, frozen: in UTF-8 where they are valid, else binary. Equal bytes become equal Hash keys
      def of_bytes(string)
        text = string.encoding == Encoding::UTF_8 ? string : string.dup.force_encoding(Encoding::UTF_8)
        (text.valid_encoding? ? text.dup : text.b).freeze
      end

      # @param bytes [String] a new String of the caller
      # @return [String] itself, in UTF-8 where the bytes are valid, else binary
      # @api private
      def tag(bytes)
        bytes.force_encoding(Encoding::UTF_8).valid_encoding? ? bytes : bytes.force_encoding(Encoding::BINARY)
      end

      # @param entries [Array<Array(String, String)>] new Strings of the caller
      # @return [Array<Array(String, String)>] the same, see {tag}. They may be many, so nothing is called for each
      # @api private
      def tag_entries(entries)
        entries.each do |key, value|
          key.force_encoding(Encoding::BINARY) unless key.force_encoding(Encoding::UTF_8).valid_encoding?
          value.force_encoding(Encoding::BINARY) unless value.force_encoding(Encoding::UTF_8).valid_encoding?
        end
      end

      # @param name [String] a relative or absolute path. In the locale C, Ruby reads paths as ASCII
      # @return [String] the absolute path, see {of_bytes}
      def path(name) = of_bytes(File.expand_path(name.b, Dir.pwd.b))

      # @param string [String]
      # @return [Boolean] whether its bytes are UTF-8 text, and it does not claim another encoding
      def utf8?(string)
        string.ascii_only? || (bytes?(string) && string.dup.force_encoding(Encoding::UTF_8).valid_encoding?)
      end

      # @param exception [Exception]
      # @return [String] its class and its message, as valid UTF-8. If its own methods raise, it is named by its class alone
      def of_exception(exception)
        "#{exception.class}: #{utf8(exception.message)}"
      rescue StandardError, ScriptError, SystemStackError, NoMemoryError, SystemExit
        MODULE_NAME.bind_call(Kernel.instance_method(:class).bind_call(exception)) || "an exception without a name"
      end

      private

      def bytes?(text) = [Encoding::UTF_8, Encoding::BINARY, Encoding::US_ASCII].include?(text.encoding)
    end
  end
end
