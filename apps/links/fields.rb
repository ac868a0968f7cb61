# frozen_string_literal: true

require_relative "errors"
require_relative "link"
require_relative "targets/target"
require_relative "timestamp"

module Links
  # The fields of a link in a request: their valid values, and their effect. A missing field leaves the link unchanged; null
  # removes a limit, a title or the tags.
  class Fields
    NAMES = %w[target status expires_at expires_in not_before max_visits title tags].freeze
    APPLICATIONS = NAMES.to_h { |name| [name, :"apply_#{name}"] }.freeze
    private_constant :APPLICATIONS
    EXPIRES_IN_SECONDS = (1..315_360_000).freeze
    MAX_VISITS = (1..(2**53)).freeze
    TITLE_LENGTH_MAX = 200
    TAGS_MAX = 20
    TAG = /\A[[:alnum:]_.:-]{1,64}\z/

    # @param name [String] of the field, for the message
    # @param value [Object]
    # @return [Integer, nil] milliseconds, nil for nil
    # @raise [Invalid]
    def self.time(name, value)
      return if value.nil?

      milliseconds = value.is_a?(String) ? Timestamp.parse(value) : nil
      return milliseconds if milliseconds&.positive?

      raise Invalid.new("invalid_time", "#{name} must be a time such as 2030-01-31T23:59:59Z.")
    end

    # @param given [Hash{String=>Object}] fields by name
    # @param own [Array<Targets::Authority>] where no target may lead
    # @param now [Integer] milliseconds
    # @raise [Invalid]
    def initialize(given, own:, now:)
      @given = given
      @own = own
      @now = now
      return unless given?("expires_at") && given?("expires_in")

      raise Invalid.new("invalid_expiry", "Send expires_at or expires_in, not both.")
    end

    # @param link [Link] is changed
    # @return [Link] the same
    # @raise [Invalid]
    def apply(link)
      (NAMES & @given.keys).each { |name| send(APPLICATIONS[name], link, @given[name]) }
      link.updated_at = @now
      check_order(link)
      link
    end

    private

    def given?(name) = @given.key?(name) && !@given[name].nil?

    def apply_target(link, value)
      raise Invalid.new("invalid_target", "A target must be a text.") unless value.is_a?(String)

      link.target = Targets::Target.check(value, own: @own)
    end

    def apply_status(link, value)
      value = Link::STATUSES.first if value.nil?
      unless value.is_a?(Integer) && Link::STATUSES.include?(value)
        raise Invalid.new("invalid_status", "A status must be one of #{Link::STATUSES.join(', ')}.")
      end

      link.status = value
    end

    def apply_expires_at(link, value)
      link.expires_at = Fields.time("expires_at", value) unless value.nil? && given?("expires_in")
    end

    def apply_expires_in(link, value)
      return if value.nil?

      unless value.is_a?(Integer) && EXPIRES_IN_SECONDS.cover?(value)
        raise Invalid.new("invalid_expiry", "expires_in must be a whole number of seconds from #{EXPIRES_IN_SECONDS.begin} " \
                                            "to #{EXPIRES_IN_SECONDS.end}.")
      end

      link.expires_at = @now + (value * 1000)
    end

    def apply_not_before(link, value)
      link.not_before = Fields.time("not_before", value)
    end

    def apply_max_visits(link, value)
      unless value.nil? || (value.is_a?(Integer) && MAX_VISITS.cover?(value))
        raise Invalid.new("invalid_max_visits", "max_visits must be a whole number from #{MAX_VISITS.begin} to #{MAX_VISITS.end}.")
      end

      link.max_visits = value
    end

    def apply_title(link, value)
      value = nil if value == ""
      unless value.nil? || (value.is_a?(String) && value.length <= TITLE_LENGTH_MAX && !value.match?(/[[:cntrl:]]/))
        raise Invalid.new("invalid_title", "A title must be one line of at most #{TITLE_LENGTH_MAX} characters.")
      end

      link.title = value
    end

    def apply_tags(link, value)
      value = [] if value.nil?
      unless value.is_a?(Array) && value.size <= TAGS_MAX && value.all? { |tag| tag.is_a?(String) && tag.match?(TAG) }
        raise Invalid.new("invalid_tags", "tags must be a list of at most #{TAGS_MAX} texts of 1 to 64 letters, digits, -, _, . and :.")
      end

      link.tags = value.uniq
    end

    def check_order(link)
      return unless link.not_before && link.expires_at && link.not_before >= link.expires_at

      raise Invalid.new("invalid_expiry", "expires_at must be later than not_before.")
    end
  end
end
