# frozen_string_literal: true

require_relative "parameters"

module Stats
  # The events of one request, valid and invalid ones. An invalid event does not affect others.
  class Batch
    NDJSON = "application/x-ndjson"
    ID_CHARACTERS_MAX = 256
    UUID = /\A\h{8}-\h{4}-\h{4}-\h{4}-\h{12}\z/

    # The fault of the event at a position: a Refused, or nil for a valid event.
    #
    # @return [Array<Refused, nil>]
    attr_reader :faults

    # @param body [String]
    # @param type [String, nil] its media type
    # @param events_max [Integer]
    # @return [Batch]
    # @raise [Refused] if it is invalid
    def self.read(body, type, events_max)
      lines = type == NDJSON || (body.include?("\n") && !body.start_with?("[", "{\n", " ", "\n"))
      items = lines ? read_lines(body, events_max) : read_list(body)
      raise Refused.new("empty_batch", "The batch has no events.") if items.empty?

      new(items, events_max)
    end

    class << self
      private

      def read_lines(body, events_max)
        body.each_line(chomp: true).lazy.reject { |line| line.strip.empty? }.map { |line| read_line(line) }.first(events_max + 1)
      end

      def read_line(line)
        Parameters.json(line)
      rescue Refused => e
        e
      end

      def read_list(body)
        value = Parameters.json(body)
        value.is_a?(Array) ? value : [value]
      end
    end

    # @param items [Array<Object>] as they were sent; a Refused is one that could not be read
    # @param events_max [Integer]
    # @param id [String] the member that has the sender's ID
    # @raise [Refused]
    def initialize(items, events_max, id: "id")
      raise Refused.new("batch_too_large", "A batch must have at most #{events_max} events.", 413) if items.size > events_max

      @items = items
      @id = id
      @faults = items.map { |item| fault(item) }
    end

    # @return [Integer]
    def size = @items.size

    # @return [Array<Hash>] the valid events
    def good = @items.each_with_index.filter_map { |item, index| item unless @faults[index] }

    # @return [Integer]
    def rejected = @faults.count { |fault| fault }

    # @return [Array<Hash>] the results of the invalid events, each with its index
    def refusals = @faults.each_with_index.filter_map { |fault, index| { index: index, **fault.to_h } if fault }

    # Refuses the valid events for which the block returns a reason.
    #
    # @yieldparam item [Hash]
    # @yieldreturn [Refused, nil]
    def refuse
      @items.each_with_index { |item, index| @faults[index] ||= yield(item) }
    end

    # @param space [String] within which the sender's IDs are unique
    # @return [Array<String>, nil] a UUID for each valid event, nil if none has an ID
    def ids(space)
      given = good.map { |item| item[@id] }
      return if given.none?

      given.map { |id| id ? uuid(id, space) : SecureRandom.uuid }
    end

    private

    def uuid(id, space) = UUID.match?(id) ? id : Elah::Sink.id_of("#{space}\0#{id}")

    def fault(item)
      return item if item.is_a?(Refused)
      return Refused.new("not_an_object", "An event must be a JSON object.") unless item.is_a?(Hash)

      id = item[@id]
      return if id.nil? || (id.is_a?(String) && id.length.between?(1, ID_CHARACTERS_MAX))

      Refused.new("invalid_id", "An ID must be a text of 1 to #{ID_CHARACTERS_MAX} characters.")
    end
  end
end
