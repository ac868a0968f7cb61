# frozen_string_literal: true

require "digest/sha2"

module Stats
  # The write keys: who may send events, the name under which they are counted, and the quota per minute. A write key is not
  # secret, because every page that sends events contains it; it identifies senders.
  class Keys
    # name: under which events are counted · per_minute: nil for no quota
    Key = Struct.new(:name, :per_minute)
    FORM = /\A([\x21-\x7e&&[^:,]]{1,200}):([\w.-]{1,100})(?::([1-9]\d{0,8}))?\z/
    BASIC = /\ABasic +([A-Za-z0-9+\/=]+)\s*\z/i

    # @param text [String, nil] `KEY:NAME` or `KEY:NAME:EVENTS_PER_MINUTE`, separated by commas
    # @return [Keys, nil] nil if there is no text: anybody may send events
    # @raise [Elah::OptionError]
    def self.parse(text) = text && new(text.split(/[,\s]+/))

    # @param parts [Array<String>]
    # @raise [Elah::OptionError]
    def initialize(parts)
      raise Elah::OptionError, "stats_keys is set, but lists no key." if parts.empty?

      @keys = parts.each_with_index.to_h do |part, index|
        key, name, per_minute = part.match(FORM)&.captures
        raise Elah::OptionError, "stats_keys must list KEY:NAME or KEY:NAME:EVENTS_PER_MINUTE; the #{index + 1}. is neither." unless key

        [digest(key), Key.new(name, per_minute&.to_i).freeze]
      end
    end

    # @param request [#header]
    # @return [String, nil] the key that came in a header: as the user of Basic, as Bearer, or as X-Api-Key
    def self.offered(request)
      basic = request.header("authorization")&.[](BASIC, 1)
      basic ? basic.unpack1("m").split(":", 2).first : Elah::ApiKey.offered(request)
    end

    # @param offered [String, nil]
    # @return [Key, nil]
    def [](offered) = offered && @keys[digest(offered)]

    # Hides the keys.
    def inspect = "#<#{self.class} #{@keys.values.map(&:name).join(', ')}>"

    private

    def digest(key) = Digest::SHA256.digest(key)
  end
end
