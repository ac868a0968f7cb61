# frozen_string_literal: true

require "securerandom"
require_relative "e164"
require_relative "errors"

module RingPools
  # The definition of a pool: its fields, their valid values, and its numbers.
  class Definition
    NUMBERS = (2..10_000).freeze
    SECONDS_MAX = 31_536_000
    LIFETIMES = (0.001..SECONDS_MAX).freeze
    LIFETIME_SECONDS = 1800
    TEXT_LENGTH_MAX = 255
    NAMES_MAX = 10
    NAME = /\A[A-Za-z0-9_.-]{1,64}\z/
    POLICIES = Elah::LeasePool::POLICIES.map(&:name).freeze
    SESSION = /\A[\x21-\x7e]{1,255}\z/
    PLACE = %i[network_id advertiser_id campaign_id id_from_network].freeze
    PARAMETERS = (1..10).map { |number| :"param#{number}" }.freeze
    URL = %r{\Ahttps?://[^\x00-\x20\x7f"\\<>]{1,2000}\z}
    TARGET_SHARE = 0.01

    FIELDS = [:id, :revision, *PLACE, :name, :pool_type, :numbers, :max_pool_size, :lifetime_seconds, :quarantine_seconds, :policy, :allow_overflow,
              :overflow_number, :destination_phone_number, :tracking_url, :destination_url, :preferred, :bulk_only, :draining, :session_parameter,
              :signals, :target_overflow_share, :api_key, *PARAMETERS].freeze
    attr_reader(*FIELDS)

    DEFAULTS = { name: "", pool_type: "Custom", lifetime_seconds: LIFETIME_SECONDS, quarantine_seconds: 0, policy: POLICIES.first,
                 allow_overflow: true, tracking_url: "", destination_url: "", preferred: false, bulk_only: false, draining: false, signals: [].freeze,
                 target_overflow_share: TARGET_SHARE }.freeze

    # The parsers of a client's fields.
    READERS = {
      name: :text, pool_type: :pool_type, numbers: :numbers, lifetime_seconds: :lifetime, quarantine_seconds: :seconds, policy: :policy,
      allow_overflow: :boolean, overflow_number: :telephone_number, destination_phone_number: :telephone_number, tracking_url: :url,
      destination_url: :url, preferred: :boolean, bulk_only: :boolean, draining: :boolean, session_parameter: :name, signals: :names,
      target_overflow_share: :share, max_pool_size: :pool_size, **PARAMETERS.to_h { |parameter| [parameter, :text] }
    }.freeze

    # @param fields [Hash{Symbol=>Object}] as returned by {#to_h}
    def initialize(fields)
      FIELDS.each { |field| instance_variable_set(:"@#{field}", fields.fetch(field) { DEFAULTS[field] }) }
      freeze
    end

    class << self
      # @param given [Hash] the client's fields, by name
      # @param id [Integer]
      # @param place [Hash{Symbol=>String}] of {PLACE}
      # @return [Definition]
      # @raise [Invalid]
      def create(given, id:, place: {})
        new({ **place, api_key: SecureRandom.urlsafe_base64(24), id: id, revision: 0 }).changed(given, created: true)
      end
    end

    # @param given [Hash] the client's fields, by name; missing ones stay unchanged
    # @param created [Boolean] whether it is new
    # @return [Definition]
    # @raise [Invalid]
    def changed(given, created: false)
      fields = { **to_h, revision: revision + 1 }
      READERS.each do |field, reader|
        next unless given.key?(field.to_s)

        value = send(:"read_#{reader}", field, given[field.to_s])
        value = DEFAULTS[field] if value.nil?
        refuse_new_overflow(value) if field == :allow_overflow && !created
        fields[field] = value
      end
      Definition.new(fields).tap(&:check)
    end

    # @raise [Invalid] when the fields do not fit together
    def check
      invalid!(:numbers, "must have #{NUMBERS.begin} to #{NUMBERS.end} numbers") unless NUMBERS.cover?(numbers.to_a.size) || (draining && numbers)
      invalid!(:overflow_number, "must not be one of the numbers that the pool lends") if numbers.to_a.include?(overflow)
      return unless allow_overflow && overflow.nil?

      invalid!(:overflow_number, "must be a telephone number, unless allow_overflow is false")
    end

    # @return [Integer, nil] the overflow number, for when no number is free
    def overflow = allow_overflow ? overflow_number || destination_phone_number : nil

    # @return [Hash{Symbol=>Object}]
    def to_h = FIELDS.to_h { |field| [field, public_send(field)] }

    private

    def refuse_new_overflow(value)
      raise Conflict.new("immutable", "allow_overflow cannot be changed after the pool was created.") unless value == allow_overflow
    end

    def invalid!(field, rule) = raise(Invalid.new("invalid_#{field}", "#{field} #{rule}."))

    def read_text(field, value)
      return if value.nil?
      return value if value.is_a?(String) && value.length <= TEXT_LENGTH_MAX && !value.match?(/[[:cntrl:]]/)

      invalid!(field, "must be a text of at most #{TEXT_LENGTH_MAX} characters")
    end

    def read_pool_type(field, value)
      return value if value.nil? || value == "Custom"

      invalid!(field, "must be Custom: the other types need data of the caller's web site")
    end

    def read_numbers(field, value)
      value.is_a?(Array) && NUMBERS.end >= value.size && value.none?(&:nil?) or
        invalid!(field, "must be a list of #{NUMBERS.begin} to #{NUMBERS.end} telephone numbers")
      numbers = value.map { |text| read_telephone_number(field, text) }
      numbers.uniq.size == numbers.size ? numbers : invalid!(field, "must not have a number twice")
    end

    def read_telephone_number(field, value)
      return if value.nil?

      number = value.is_a?(String) || value.is_a?(Integer) ? E164.parse(value.to_s) : nil
      number || invalid!(field, "must be a telephone number such as +18883906665, not #{value.to_s[0, 40].inspect}")
    end

    def read_seconds(field, value) = read_integer(field, value, 0..SECONDS_MAX)

    # Unlike the original, accepts a fraction of a second.
    def read_lifetime(field, value)
      return if value.nil?

      number = value.is_a?(String) && value.match?(/\A\d{1,9}\z/) ? value.to_i : value
      return number if number.is_a?(Numeric) && LIFETIMES.cover?(number)

      invalid!(field, "must be a number of seconds from #{LIFETIMES.begin} to #{LIFETIMES.end}")
    end

    def read_pool_size(field, value) = read_integer(field, value, NUMBERS)

    # The original's clients send numbers as texts too.
    def read_integer(field, value, range)
      return if value.nil?

      number = value.is_a?(String) && value.match?(/\A\d{1,9}\z/) ? value.to_i : value
      number.is_a?(Integer) && range.cover?(number) ? number : invalid!(field, "must be a whole number from #{range.begin} to #{range.end}")
    end

    def read_boolean(field, value)
      case value
      when nil, true, false then value
      when "true" then true
      when "false" then false
      else invalid!(field, "must be true or false")
      end
    end

    def read_policy(field, value)
      value.nil? || POLICIES.include?(value) ? value : invalid!(field, "must be one of #{POLICIES.join(', ')}")
    end

    def read_url(field, value)
      value.nil? || value == "" || (value.is_a?(String) && value.match?(URL)) ? value : invalid!(field, "must be an http or https URL")
    end

    def read_name(field, value)
      value.nil? || (value.is_a?(String) && value.match?(NAME)) ? value : invalid!(field, "must have 1 to 64 letters, digits, _, . and -")
    end

    def read_names(field, value)
      return if value.nil?

      value.is_a?(Array) && value.size <= NAMES_MAX or invalid!(field, "must be a list of at most #{NAMES_MAX} names")
      value.map { |name| read_name(field, name) || invalid!(field, "must not have an empty name") }
    end

    def read_share(field, value)
      value.nil? || (value.is_a?(Numeric) && value.positive? && value < 1) ? value : invalid!(field, "must be a number between 0 and 1")
    end
  end
end
