# frozen_string_literal: true

require_relative "../../concurrency/cpus"
require_relative "../../errors"
require_relative "port_range"
require_relative "tls_files"

module Elah
  module Options
    # One row of the table of options: its names and its valid values. Converts text of the command line, the environment or the config file
    # to a checked value.
    #
    # `type` is one of :string, :path, :integer, :workers, :float, :boolean, :choice, :listeners, :port_range, :tls_files, :postgres_url; `unit` is
    # "bytes", "seconds", "ms" or nil; `range` limits a number, `values` lists the choices; `variable` is a name that other servers read too
    # (PORT), in addition to ELAH_<NAME>; `limit` marks an option that the core enforces.
    Option = Struct.new(:name, :group, :type, :unit, :default, :range, :values, :variable, :limit, :summary, keyword_init: true)

    # The checks and the spellings of a row.
    class Option
      SUFFIXES = { "" => 1, "K" => 1024, "M" => 1024**2, "G" => 1024**3 }.freeze
      BOOLEANS = { "true" => true, "yes" => true, "on" => true, "1" => true,
                   "false" => false, "no" => false, "off" => false, "0" => false }.freeze
      PLACEHOLDERS = { string: "NAME", path: "PATH", integer: "N", workers: "N|auto", float: "N", listeners: "URL",
                       port_range: "HOST:FIRST-LAST", tls_files: "FILES", postgres_url: "URL" }.freeze

      # @return [String] the flag of the command line, `--header-bytes-max`
      def flag = "--#{name.to_s.tr('_', '-')}"

      # @return [Array<String>] the environment variables; the first one that is set and not empty counts
      def variables = ["ELAH_#{name.upcase}", variable].compact

      # @return [String, nil] the placeholder of the value in the help
      def placeholder
        return values.join("|") if values
        return if type == :boolean

        unit&.upcase || PLACEHOLDERS.fetch(type)
      end

      # @return [String] the valid values, as the end of the sentence "NAME must be ..."
      def expectation
        case type
        when :workers then "a whole number from #{range_text}, or auto"
        when :integer then "a whole number#{" of #{unit}" if unit} from #{range_text}#{', such as 64K, 10M or 1G' if unit == 'bytes'}"
        when :float then "a number#{" of #{unit}" if unit} from #{range_text}"
        when :boolean then "true or false"
        when :choice then "one of #{values.join(', ')}"
        when :listeners then "tcp://HOST:PORT or unix:///PATH"
        when :port_range then "an IP address and ports, such as 10.0.0.11:9400-9463"
        when :tls_files then "certificate=PATH,key=PATH,authority=PATH"
        when :postgres_url then "postgres://USER:PASSWORD@HOST1:PORT1,HOST2:PORT2/DATABASE"
        when :path then "a path in UTF-8"
        else "a text in UTF-8"
        end
      end

      # @return [String, nil] the range of a number, such as "0.001 to 86400"
      def range_text = range && "#{brief(range.begin)} to #{brief(range.end)}"

      # @return [String, nil] the default as a user would write it, with its unit
      def default_text = default.nil? ? nil : [default.is_a?(Array) ? default.join(",") : brief(default), unit].compact.join(" ")

      # @param value [Object] a String, or a Ruby object of the config file
      # @param source [String] where it was written, for the message
      # @return [Object] the checked value, frozen
      # @raise [Elah::OptionError]
      def check(value, source:)
        checked = send(:"read_#{type}", value)
        checked = nil if range && checked && !range.cover?(checked)
        checked = nil if values && !values.include?(checked)
        return checked unless checked.nil?

        raise OptionError, "#{name} must be #{expectation}, not #{wrong_part(value)} (#{source})."
      end

      private

      def brief(value) = value.is_a?(Float) && value == value.to_i ? value.to_i : value

      # The bytes count, because Ruby reads the command line as ASCII in the locale C.
      def read_string(value)
        text = Text.of_bytes(value.to_s) if value.is_a?(String) || value.is_a?(Symbol)
        text if text && !text.empty? && text.encoding == Encoding::UTF_8
      end

      def read_path(value) = read_string(value.respond_to?(:to_path) ? value.to_path : value)

      def read_choice(value) = read_string(value)

      def read_integer(value)
        return value if value.is_a?(Integer)

        digits, suffix = value.to_s.match(/\A(\d+(?:_\d+)*)([KMG]?)\z/)&.captures
        return if digits.nil? || (suffix != "" && unit != "bytes")

        digits.to_i * SUFFIXES.fetch(suffix)
      end

      def read_workers(value) = value.to_s == "auto" ? Cpus.count.clamp(range.begin, range.end) : read_integer(value)

      def read_float(value)
        number = value.is_a?(String) ? Float(value, exception: false) : value
        number.is_a?(Numeric) && number.real? && number.to_f.finite? ? number.to_f : nil
      end

      def read_boolean(value) = [true, false].include?(value) ? value : BOOLEANS[value.to_s.downcase]

      def read_listeners(value)
        listeners = urls(value).map { |url| listener(url) }
        listeners.any? && listeners.all? ? listeners.freeze : nil
      end

      def urls(value) = value.is_a?(String) ? read_string(value).to_s.split(",") : Array(value)

      def listener(url) = Listener.parse(read_string(url.to_s).to_s.strip)

      def read_postgres_url(value) = read_string(value)&.then { |text| text if text.match?(%r{\Apostgres(?:ql)?://\S+\z}) }

      # Of several addresses those that are wrong; not a password.
      def wrong_part(value)
        return "what was given" if type == :postgres_url && value != ""

        wrong = type == :listeners ? urls(value).reject { |url| listener(url) } : []
        wrong.empty? ? value.inspect : wrong.map(&:inspect).join(", ")
      end

      def read_port_range(value) = value.is_a?(PortRange) ? value : PortRange.parse(value.to_s)

      def read_tls_files(value) = value.is_a?(TlsFiles) ? value : TlsFiles.parse(value)
    end
  end
end
