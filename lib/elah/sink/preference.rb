# frozen_string_literal: true

module Elah
  class Sink
    # The durability that a request asks for in the header `Prefer` (RFC 7240), such as `Prefer: durability=disk` or `Prefer: durability=delivered,
    # wait=5`. Include it in an `Elah::API` with `helpers Elah::Sink::Preference`.
    module Preference
      WAIT_SECONDS_MAX = 30
      # A longer header is ignored.
      HEADER_BYTES_MAX = 1024
      PREFERENCE = /\A\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?\s*(?:;.*)?\z/.freeze
      # Number of cached headers. Few different ones recur.
      REMEMBERED_MAX = 64
      NONE = {}.freeze
      NAMED = DURABILITIES.to_h { |durability| [durability.name, durability] }.freeze
      STRENGTH = DURABILITIES.each_with_index.to_h.freeze
      DEFAULTS = DURABILITIES.to_h { |durability| [durability, { durability: durability }.freeze] }.freeze
      private_constant :PREFERENCE, :REMEMBERED_MAX, :NONE, :NAMED, :STRENGTH, :DEFAULTS

      @remembered = {}

      class << self
        # @param header [String, nil]
        # @return [Hash{String=>String}] preferences by their names in lower case; of a repeated name the first counts
        def parse(header)
          return NONE if header.nil? || header.bytesize > HEADER_BYTES_MAX

          @remembered[header] || remember(header)
        end

        # @param header [String, nil]
        # @param default [Symbol] durability without a preference, or with an unknown one
        # @param max [Symbol] the highest durability that a request may ask for
        # @return [Hash{Symbol=>Object}] `durability:` and, if the request has it, `wait_seconds:`, for {Sink#push}
        def of(header, default: :memory, max: :delivered)
          return DEFAULTS.fetch(default) if header.nil? && max == :delivered

          wishes = parse(header)
          durability = NAMED[wishes["durability"]] || default
          durability = max unless durability == max || STRENGTH.fetch(durability) < STRENGTH.fetch(max)
          wait = wishes["wait"]&.then { |seconds| Integer(seconds, 10, exception: false) }
          wait&.positive? ? { durability: durability, wait_seconds: [wait, WAIT_SECONDS_MAX].min } : { durability: durability }
        end

        private

        def remember(header)
          @remembered.clear if @remembered.size >= REMEMBERED_MAX
          @remembered[header.dup.freeze] = read(header).freeze
        end

        def read(header)
          header.scan(/(?:[^,"]|"(?:[^"\\]|\\.)*")+/).each_with_object({}) do |preference, all|
            name, quoted, token = preference.match(PREFERENCE)&.captures
            all[name.downcase] ||= (quoted&.gsub(/\\(.)/, '\1') || token || "") if name
          end
        end
      end

      # Pushes an event with the durability that the request prefers, and returns the durability reached in `Preference-Applied`. Call it in an
      # endpoint.
      #
      # @param sink [Sink]
      # @param event [Hash, String]
      # @param default [Symbol]
      # @param max [Symbol]
      # @param options [Hash{Symbol=>Object}] of {Sink#push}
      # @option options [String, nil] :id
      # @option options [String, nil] :stream
      # @return [Receipt]
      # @raise (see Sink#push)
      def push_as_preferred(sink, event, default: :memory, max: :delivered, **options)
        receipt = sink.push(event, **Preference.of(headers["Prefer"], default: default, max: max), **options)
        header "Preference-Applied", "durability=#{receipt.durability}"
        receipt
      end
    end
  end
end
