# frozen_string_literal: true

require "digest/sha2"
require "ipaddr"
require_relative "bots"

module Stats
  # The stored data of an event's sender: an address without its last part, a visitor ID that nobody can follow from one day to
  # the next, and whether it is a bot. The address itself is never written: not to the journal, a dead letter or a log.
  class Visitors
    # ip: truncated, or nil · visitor: 32 hexadecimal digits, or nil · bot: why it is classified as a bot, or nil
    Visitor = Struct.new(:ip, :visitor, :bot) do
      # @param type [String] of an event
      # @return [Hash{String=>String}] the first members of this visitor's events of that type
      def members(type) = (@members ||= {})[type] ||= { "type" => type, "ip" => ip, "visitor" => visitor, "bot" => bot }.freeze
    end

    # The data of a sender who opts out of tracking.
    NOBODY = Visitor.new(nil, nil, nil)
    # Cached visitors, so that the next event of each costs a look-up.
    REMEMBERED_MAX = 4096
    # Stored bits of an address, by its length.
    KEPT_BITS = { 4 => 24, 16 => 48 }.freeze
    ADDRESSES = %w[truncated full none].freeze

    # @param user [String] a name that the sender of an event knows its user by
    # @return [String] the visitor id of that user, which does not change
    def self.of_user(user) = Digest::SHA256.hexdigest("user\0#{user}")[0, 32]

    # @param salts [Salts]
    # @param addresses [String] the stored form of an address, one of {ADDRESSES}
    def initialize(salts, addresses: "truncated")
      @salts = salts
      @addresses = addresses
      @remembered = {}
      @count = 0
      @day = nil
    end

    # @param address [String] of the client
    # @param agent [String, nil] its User-Agent
    # @return [Visitor]
    def of(address, agent)
      day = @salts.day
      forget(day) unless day == @day
      known = @remembered[address]
      known && known[agent] || remember(address, agent)
    end

    # The ID of an address and a User-Agent on a day, for a visitor who wants to be erased.
    #
    # @param address [String]
    # @param agent [String, nil]
    # @param day [Integer] days since 1970
    # @return [String, nil] nil if the salt of that day has been deleted
    def id(address, agent, day)
      salt = @salts.of(day) and Digest::SHA256.hexdigest("#{salt}#{address}\0#{agent}".b)[0, 32]
    end

    private

    def forget(day)
      @remembered.clear
      @count = 0
      @day = day
    end

    def remember(address, agent)
      forget(@day) if @count >= REMEMBERED_MAX
      @count += 1
      (@remembered[address] ||= {})[agent] = Visitor.new(kept(address), id(address, agent, @day), Bots.verdict(agent))
    end

    def kept(address)
      return if @addresses == "none"

      ip = IPAddr.new(address)
      ip = ip.native
      @addresses == "full" ? ip.to_s : ip.mask(KEPT_BITS.fetch(ip.hton.bytesize)).to_s
    rescue IPAddr::Error
      nil
    end
  end
end
