# frozen_string_literal: true

module Elah
  class Sink
    # A destination: a collection behind MongoDB's protocol. The `_id` of a document is the ID of its event, so a repeated event is stored once.
    class MongoCollection
      DUPLICATE = 11_000
      # Codes by which the server reports its own state, not a bad document: it is starting, stopping, or not the primary.
      PASSING_CODES = [6, 7, 89, 91, 189, 262, 9001, 10_107, 11_600, 11_602, 13_435, 13_436].freeze
      private_constant :DUPLICATE, :PASSING_CODES

      # @param collection [Elah::Mongo::Collection]
      # @yieldparam event [Event]
      # @yieldreturn [Hash] the document without its `_id`; the default has `stream`, `accepted_at` and `data`
      def initialize(collection, &document)
        @collection = collection
        @document = document || ->(event) { { "stream" => event.stream, "accepted_at" => event.accepted_at, "data" => event.data } }
      end

      # @param events [Array<Event>]
      # @return [void]
      # @raise [Rejected] when the server rejects some of them
      def deliver(events)
        @collection.insert_many(events.map { |event| { "_id" => event.id }.merge(@document.call(event)) }, ordered: false)
      rescue ::Elah::Mongo::WriteFailed => e
        # mongo-java-server refuses the whole command when another one inserts the same document at the same moment.
        return if events.size == 1 && e.is_a?(::Elah::Mongo::DuplicateKey)
        raise if e.write_errors.empty?

        refused = e.write_errors.reject { |_, code, _| code == DUPLICATE }
        raise Rejected, refused.to_h { |index, code, words| [events[index].id, "#{words} (#{code})"] } unless refused.empty?
      end

      # @param error [Exception]
      # @return [Boolean] whether the server caused the error, and not an event
      def passing?(error) = error.is_a?(::Elah::Mongo::Refused) && PASSING_CODES.include?(error.server_code)
    end
  end
end
