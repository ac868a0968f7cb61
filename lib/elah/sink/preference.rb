# frozen_string_literal: true

module Elah
  class Sink
    # The durability that a request asks for, in the header `Prefer` (RFC 7240), as `Prefer: durability=disk` or
    # `Prefer: durability=delivered, wait=5`. An `Elah::API` says `helpers Elah::Sink::Preference`.
    module Preference
      WAIT_SECONDS_MAX = 30
      # A longer header says nothing.
      HEADER_BYTES_MAX = 1024
      PREFERENCE = /\A\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?\s*(?:;.*)?\z/.freeze
      # How many headers are remembered. Few different ones come again and again.
      REMEMBERED_MAX = 64
      NONE = {}.freeze
      private_constant :PREFERENCE, :REMEMBERED_MAX, :NONE

      @remembered = {}

      class << self
        # @param header [String, nil]
        # @return [Hash{String=>String}] every preference by its name in lower case; the first of a name counts
        def parse(header)
          return NONE if header.nil? || header.bytesize > HEADER_BYTES_MAX

          @remembered[header] || remember(header)
        end

        # @param header [String, nil]
        # @param default [Symbol] what holds without a preference, or with one that is not known
        # @param max [Symbol] the most that a request may ask for
        # @return [Hash{Symbol=>Object}] `durability:` and, if the request names it, `wait_seconds:`, for {Sink#push}
        def of(header, default: :memory, max: :delivered)
          wishes = parse(header)
          durability = DURABILITIES.find { |known| known.name == wishes["durability"] } || default
          durability = max if DURABILITIES.index(durability) > DURABILITIES.index(max)
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

      # In an endpoint: gives an event to a sink as the request prefers, and says in `Preference-Applied` which durability was met.
      #
      # @param sink [Sink]
      # @param event [Hash, String]
      # @param default [Symbol]
      # @param max [Symbol]
      # @param options [Hash] `id:` and `stream:` of {Sink#push}
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
