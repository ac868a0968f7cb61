# frozen_string_literal: true

module Elah
  class Sink
    # What {Sink} does with requests and their bodies: they become events without Hashes in between.
    module Requests
      NO_PARAMS = {}.freeze
      private_constant :NO_PARAMS

      # Accepts a request as an event: what `head` says, then its `path`, its `headers` and `params`.
      #
      # @param request [Elah::Request, Elah::API::RackRequest] as an endpoint has it
      # @param head [String] a JSON object with one member at least, without its closing brace
      # @param params [Hash]
      # @param except [String] names of headers that are not kept, in lower case, separated by blanks
      # @param durability [Symbol] `:memory` or `:disk`
      # @return [Symbol] the durability
      # @raise [Full, TooLarge, Failed] when it was not accepted
      # @raise [Elah::JSON::GenerateError] when `params` have no form in JSON
      def append_request(request, head, params = NO_PARAMS, except = "", durability = :memory)
        journal = @journal || open
        position = if request.instance_of?(Request)
                     journal.append_request(request, head, except, params)
                   else
                     journal.append(Requests.event(request, head, params, except), nil, nil, nil)
                   end
        journal.wait_synced(position) if durability == :disk
        durability
      end

      # Accepts a plain request as an event and answers it, without an object of Ruby for any part of it. With the durability `:disk`, asked
      # for by the request or by default, the answer is given when the next sync is done, also after the endpoint has ended; all that came
      # in one turn of the loop share that sync.
      #
      # Plain is a request with parameters of one level, by query, form or JSON, none of the `careful` headers of the intake, and
      # `Prefer: durability=memory` or `disk` or no preference, of a sender that the intake knows.
      #
      # @param request [Elah::Request, Elah::API::RackRequest]
      # @param intake [Intake]
      # @param durability [Symbol] `:memory` or `:disk`, for requests without a preference
      # @param has_body [Boolean] whether a body counts
      # @return [Boolean, nil] false or nil, and nothing has happened, when the request is not plain
      # @raise [Full, Failed]
      def record(request, intake, durability, has_body)
        request.record(200, intake, @journal || open, durability == :disk, has_body) if request.instance_of?(Request)
      end

      # Does what {#record} does before the handler of a route begins, without an object of Ruby: what a route is given as its `responder:`. It
      # takes what the journal of an open sink takes; the first request, and whatever cannot be recorded, goes to the handler.
      #
      # @param intake [Intake]
      # @param durability [Symbol] `:memory` or `:disk`, for requests without a preference
      # @param has_body [Boolean] whether a body counts
      # @return [Object]
      def responder(intake, durability, has_body) = SinkResponder.open(self, intake, durability == :disk, has_body)

      # Accepts every object of a body, all or, by an exception, none, each as `head`, its own text as it was sent, and `}`. What is in the
      # objects is checked by whoever reads them; here they are only found.
      #
      # @param body [String] a JSON array of objects, or an object a line
      # @param is_list [Boolean] whether it is the array
      # @param head [String] the beginning of a JSON object, up to where the text of each stands
      # @param max [Integer] objects
      # @param durability [Symbol] `:memory` or `:disk`
      # @param stream [String, nil]
      # @param counts [Array(NameCounts, String), nil] where is counted which path the objects name, and the path of those that name none
      # @return [Array(BatchReceipt, Integer, Hash{(String, nil)=>Integer}), nil] the receipt, the number of objects, and, without `counts`,
      #   how many have which text as their member `path`; nil, and nothing is accepted, when something else is in the body, an object
      #   has a member `id`, or there are too many
      # @raise [Full, TooLarge, Failed]
      def append_items(body, is_list, head, max:, durability: :memory, stream: nil, counts: nil)
        check(durability, stream)
        journal = @journal || open
        position, count, ids, paths = journal.append_items(body, [is_list, max], head, stream, counts)
        return if position.nil?

        journal.wait_synced(position) if durability == :disk
        [BatchReceipt.new(ids, durability), count, paths]
      end

      # @api private
      # @return [Hash] the event of a request of another server
      def self.event(request, head, params, except)
        headers = request.headers.except(*except.split).transform_values { |value| value.dup.force_encoding(Encoding::UTF_8).scrub }
        JSON.parse("#{head}}").merge("path" => request.path, "headers" => headers, "params" => params)
      end
    end
  end
end
