# frozen_string_literal: true

module Elah
  class Sink
    # The methods of a {Sink} that turn requests and their bodies into events without a Hash in between.
    module Requests
      NO_MEMBERS = {}.freeze
      NO_NAMES = [].freeze
      private_constant :NO_MEMBERS, :NO_NAMES

      # Accepts a request as an event, and waits for the durability as {Sink#push} does. The event has the members of `with`, then `path`, `headers`
      # and `params`. These three replace members of `with` that have their names.
      #
      # @param request [Elah::Request, Elah::Framework::RackRequest] as an endpoint has it
      # @param with [Hash] the first members of the event
      # @param params [Hash]
      # @param except [Array<String>] names of headers to leave out, in lower case
      # @param only [Array<String>, nil] names of the headers to keep, in place of `except`
      # @param durability [Symbol] one of {Sink::DURABILITIES}
      # @param id [String, nil] a UUID; send an event again under the same ID
      # @param stream [String, nil] label under which it is counted, up to 255 bytes
      # @param wait_seconds [Numeric] maximum wait for the delivery; after that the receipt has `:disk`
      # @return [Receipt]
      # @raise [Full, TooLarge, Failed] when the event was not accepted
      # @raise [Rejected] when the caller waits for `:delivered` and the destination rejects the event
      # @raise [Elah::JSON::GenerateError] when `with` or `params` cannot be written as JSON
      # @raise [TypeError] when `request` is no request, `with` is not a Hash, or a name of a header is not a String
      # @raise [ArgumentError] when a name of a header is not in lower case
      def push_request(request, with: NO_MEMBERS, params: NO_MEMBERS, except: NO_NAMES, only: nil, durability: :memory, id: nil, stream: nil,
                       wait_seconds: 10)
        unless request.instance_of?(Request)
          event = Requests.event(request, with, params, except, only)
          return push(event, durability: durability, id: id, stream: stream, wait_seconds: wait_seconds)
        end

        check(durability, stream, wait_seconds)
        journal = @journal || open
        raw_id = id ? Id.raw(id) : journal.next_id
        met = await(journal, [raw_id], durability, wait_seconds) do
          journal.append_request(request, [with, params, only || except, !only.nil?], stream, raw_id)
        end
        Receipt.new(raw_id, met)
      rescue Closed
        retry
      end

      # Accepts every object of a body, or raises and accepts none. Each event has the members of `with`, then the object's unchanged text under the
      # name `as`. The contents of the objects are not checked here.
      #
      # @param body [String] a JSON array of objects, or an object per line
      # @param max [Integer] maximum number of objects
      # @param lines [Boolean] whether each line has an object
      # @param with [Hash] the first members of every event
      # @param as [String] the name of the object in its event
      # @param durability [Symbol] `:memory` or `:disk`
      # @param stream [String, nil]
      # @param counts [Array(NameCounts, String), nil] the counts to which the paths of the objects are added, and the path of objects without one
      # @return [Array(BatchReceipt, Integer, Hash{(String, nil)=>Integer}), nil] the receipt, the number of objects and, without `counts`, the
      #   number of objects by the text of their member `path`. nil, and nothing is accepted, when the body has anything but objects, an object has
      #   a member `id`, or there are too many
      # @raise [Full, TooLarge, Failed]
      # @raise [Elah::JSON::GenerateError] when `with` cannot be written as JSON
      def push_items(body, max:, lines: false, with: NO_MEMBERS, as: "params", durability: :memory, stream: nil, counts: nil)
        check(durability, stream)
        raise ArgumentError, "push_items cannot wait for a delivery: durability: must be :memory or :disk." if durability == :delivered

        journal = @journal || open
        position, count, ids, paths = journal.append_items(body, [!lines, max], [with, as], stream, counts)
        return if position.nil?

        journal.wait_synced(position) if durability == :disk
        [BatchReceipt.new(ids, durability), count, paths]
      rescue Closed
        retry
      end

      # @api private
      # @return [Hash] the event of a request that another server received
      def self.event(request, with, params, except, only)
        raise TypeError, "with: is a Hash, not #{with.class}." unless with.is_a?(Hash)
        raise TypeError, "push_request needs the request of an endpoint, not #{request.class}." unless request.is_a?(Framework::RackRequest)

        (only || except).each { |name| check_name(name) }
        kept = only ? request.headers.slice(*only) : request.headers.except(*except)
        headers = kept.transform_values { |value| value.dup.force_encoding(Encoding::UTF_8).scrub }
        { **with.transform_keys(&:to_s), "path" => request.path, "headers" => headers, "params" => params }
      end

      # A name that is not found would leave a secret in the event.
      def self.check_name(name)
        raise TypeError, "Names of headers are Strings, not #{name.inspect}." unless name.is_a?(String)
        raise ArgumentError, "Names of headers are in lower case, not #{name.inspect}." if name.match?(/[A-Z]/n)
      end
      private_class_method :check_name
    end
  end
end
