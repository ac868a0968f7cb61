# frozen_string_literal: true

require_relative "json_text"

module Stats
  # The events in the store: by their IDs, so that a repeated one is stored once, and by visitor. Both expire after the
  # retention time.
  class Archive
    ERASED_AT_ONCE = 500
    VISITOR = /\A\h{32}\z/

    # @param store [Elah::Store]
    # @param kept_seconds [Integer]
    # @param is_keeping [Boolean] whether events are stored here; false stores their IDs only, because another destination has them
    def initialize(store, kept_seconds:, is_keeping: true)
      @store = store
      @events = store.table("events")
      @visits = store.table("visits")
      @erased = store.table("erased")
      @kept_seconds = kept_seconds
      @is_keeping = is_keeping
    end

    # @param tx [Elah::Store::Transaction]
    # @param events [Array<EventFields>]
    # @return [Array<EventFields>] the new ones
    def add(tx, events) = events.select { |event| new?(tx, event) }

    # The visitors of these events who have been erased. An erasure that begins before the transaction ends repeats it.
    #
    # @param tx [Elah::Store::Transaction]
    # @param events [Array<EventFields>]
    # @return [Array<String>]
    def erased(tx, events)
      visitors = events.filter_map(&:visitor).uniq
      tx.preload(*events.flat_map { |event| [@events, event.id] }, *visitors.flat_map { |visitor| [@erased, visitor] })
      visitors.select { |visitor| tx.get(@erased, visitor) }
    end

    # @param events [Array<EventFields>]
    # @return [Array<EventFields>] without those of erased visitors
    def without_erased(events)
      visitors = events.filter_map(&:visitor).uniq
      return events if visitors.empty? || @erased.size.zero?

      marks = @store.values_at(*visitors.flat_map { |visitor| [@erased, visitor] })
      erased = visitors.zip(marks).to_h.compact
      events.reject { |event| erased.key?(event.visitor) }
    end

    # @param id [String]
    # @return [JSONText, nil] the event with its `id` and `accepted_ms`
    def find(id) = @events.get(id)&.then { |value| read(id, value) }

    # @param visitor [String]
    # @param after [String, nil] the id of the last event of the page before
    # @param limit [Integer]
    # @return [Array<JSONText>]
    def of_visitor(visitor, after: nil, limit: 100)
      keys = @visits.range(prefix: visitor, after: after && (visitor + after), limit: limit).map(&:first)
      keys.filter_map { |key| find(key.byteslice(visitor.bytesize..)) }
    end

    # Erases a visitor: all stored events, and those that arrive late.
    #
    # @param visitor [String]
    # @return [Integer] how many were stored here
    def erase(visitor)
      @erased.put(visitor, "", ttl: Salts::KEPT_SECONDS)
      erased = 0
      while (keys = @visits.range(prefix: visitor, limit: ERASED_AT_ONCE).map(&:first)).any?
        @store.transaction do |tx|
          keys.each do |key|
            tx.delete(@events, key.byteslice(visitor.bytesize..))
            tx.delete(@visits, key)
          end
        end
        erased += keys.size
      end
      erased
    end

    # @return [Integer] events, or their ids
    def size = @events.size

    private

    def new?(tx, event)
      unless @is_keeping
        return tx.put_new(@events, event.id, "", ttl: Salts::KEPT_SECONDS)
      end
      return false unless tx.put_new(@events, event.id, [event.event.accepted_ms, event.event.bytes].pack("Q>a*"), ttl: @kept_seconds)

      tx.put(@visits, event.visitor + event.id, "", ttl: @kept_seconds) if event.visitor
      true
    end

    def read(id, value)
      return if value.empty?

      event = value.byteslice(8..).force_encoding(Encoding::UTF_8)
      JSONText.new(%({"id":"#{id}","accepted_ms":#{value.unpack1('Q>')},#{event.delete_prefix('{')}))
    end
  end
end
