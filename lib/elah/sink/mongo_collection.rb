# frozen_string_literal: true

module Elah
  class Sink
    # A destination: a collection behind MongoDB's protocol. The `_id` of a document is the ID of its event, so a repeated event is stored once.
    class MongoCollection
      DUPLICATE = [11_000, 11_001, 12_582].freeze
      # Codes of a refused command that a document in it may cause: its values, depth or size, or a duplicate key; 0 is an error without a code. All
      # others are about the server, the collection or the user.
      OF_A_DOCUMENT = [0, 2, 9, 14, 15, 22, 121, 10_334, 17_280, *DUPLICATE].freeze
      # Codes of a refused document for which the server is the cause: it stops, is not the primary, has no room or time, or met another write.
      OF_THE_SERVER = [6, 7, 24, 50, 63, 89, 91, 112, 189, 262, 9001, 10_107, 11_600, 11_602, 13_388, 13_435, 13_436, 14_031].freeze
      private_constant :DUPLICATE, :OF_A_DOCUMENT, :OF_THE_SERVER

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
        @collection.insert_many(events.map { |event| { "_id" => event.id }.merge(event.map_with(@document)) }, ordered: false)
      rescue ::Elah::Mongo::WriteFailed => e
        # mongo-java-server refuses the whole command when another one inserts the same document at the same moment.
        errors = e.write_errors.empty? && events.one? ? [[0, e.server_code, e.message]] : e.write_errors
        raise if errors.empty? || passing?(e)

        refused = without_repeated(events, errors)
        raise Rejected, refused.to_h { |index, code, words| [events[index].id, "#{words} (#{code})"] } unless refused.empty?
      end

      # @param error [Exception]
      # @return [Boolean] whether the server caused the error, and not an event
      def passing?(error)
        return false unless error.is_a?(::Elah::Mongo::Refused)

        codes = error.write_errors.map { |_, code, _| code }
        # Beside the errors of documents, another code is that of a write concern that is not met.
        return !OF_A_DOCUMENT.include?(error.server_code) unless codes.include?(error.server_code)

        codes.any? { |code| OF_THE_SERVER.include?(code) }
      end

      private

      # An event whose ID is stored came again. Otherwise another unique index has refused it.
      def without_repeated(events, errors)
        duplicates = errors.filter_map { |index, code, _| events[index].id if DUPLICATE.include?(code) }
        return errors if duplicates.empty?

        stored = @collection.find({ "_id" => { "$in" => duplicates } }, projection: { "_id" => 1 }).to_h { |document| [document["_id"], true] }
        errors.reject { |index, code, _| DUPLICATE.include?(code) && stored[events[index].id] }
      end
    end
  end
end
