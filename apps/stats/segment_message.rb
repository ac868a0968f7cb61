# frozen_string_literal: true

module Stats
  # One message of Segment's libraries: its recorded part, and its ID.
  class SegmentMessage
    TYPES = %w[track page screen identify group alias].freeze
    MESSAGE_BYTES_MAX = 32 * 1024
    BATCH_BYTES_MAX = 500 * 1024
    # Not stored for a sender who opts out of tracking.
    PERSONAL = %w[userId anonymousId previousId traits context].freeze

    class << self
      # @param body [String]
      # @param type [String] of the route
      # @raise [Refused]
      def check_size(body, type)
        bytes_max = type == "batch" ? BATCH_BYTES_MAX : MESSAGE_BYTES_MAX
        raise Refused.new("event_too_large", "The message has more than #{bytes_max} bytes.", 400) if body.bytesize > bytes_max
      end

      # @param item [Object] of a batch
      # @return [Refused, nil]
      def fault(item) = (Refused.new("unknown_type", "type must be one of #{TYPES.join(', ')}.", 400) unless TYPES.include?(item["type"]))
    end

    # @param type [String]
    # @param message [Hash{String=>Object}]
    # @param batch [Hash{String=>Object}] the shared part of a batch's messages
    def initialize(type, message, batch = {})
      @type = type
      @message = batch.slice("context", "integrations").merge(message)
    end

    # @return [String, nil]
    def write_key = text(@message["writeKey"])

    # @param key [Keys::Key, nil]
    # @return [String, nil] a UUID, the same when the message is sent again
    def id(key)
      id = text(@message["messageId"]) or return
      Batch::UUID.match?(id) ? id : Elah::Sink.id_of("#{key&.name}\0#{id}")
    end

    # @return [String, nil] of the page that it is about
    def path = text(dig("properties", "path")) || text(dig("context", "page", "path"))

    # @param sender [Sender]
    # @param default_path [String]
    # @return [Hash{String=>Object}] as it is recorded
    def event(sender, default_path)
      message = @message.except("writeKey")
      message = message.except(*PERSONAL) if sender.opted_out?
      # A sender's claim about an address proves nothing, and is not stored.
      message["context"] = message["context"].except("ip") if message["context"].is_a?(Hash)
      sender.for_user(text(@message["userId"]) || text(@message["anonymousId"])).event(@type, path || default_path, message)
    end

    private

    def text(value) = (value if value.is_a?(String) && !value.empty?)

    def dig(*names) = names.reduce(@message) { |value, name| value.is_a?(Hash) ? value[name] : nil }
  end
end
