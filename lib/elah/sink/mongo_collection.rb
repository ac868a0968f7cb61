# frozen_string_literal: true

module Elah
  class Sink
    # A collection behind MongoDB's protocol as a destination. The `_id` of a document is that of its event, so that one that comes twice is
    # there once.
    class MongoCollection
      DUPLICATE = 11_000
      # What the server says of itself, and not of a document: it is starting, stopping, or not the primary.
      PASSING_CODES = [6, 7, 89, 91, 189, 262, 9001, 10_107, 11_600, 11_602, 13_435, 13_436].freeze
      private_constant :DUPLICATE, :PASSING_CODES

      # @param collection [Elah::Mongo::Collection]
      # @yieldparam event [Event]
      # @yieldreturn [Hash] the document without its `_id`; without a block it has `stream`, `accepted_at` and `data`
      def initialize(collection, &document)
        @collection = collection
        @document = document || ->(event) { { "stream" => event.stream, "accepted_at" => event.accepted_at, "data" => event.data } }
      end

      # @param events [Array<Event>]
      # @return [void]
      # @raise [Rejected] when the server does not take some of them
      def deliver(events)
        @collection.insert_many(events.map { |event| { "_id" => event.id }.merge(@document.call(event)) }, ordered: false)
      rescue ::Elah::Mongo::WriteFailed => e
        raise if e.write_errors.empty?

        refused = e.write_errors.reject { |_, code, _| code == DUPLICATE }
        raise Rejected, refused.to_h { |index, code, words| [events[index].id, "#{words} (#{code})"] } unless refused.empty?
      end

      # @param error [Exception]
      # @return [Boolean] whether the server, and not an event, is to blame
      def passing?(error) = error.is_a?(::Elah::Mongo::Refused) && PASSING_CODES.include?(error.server_code)
    end
  end
end
