# frozen_string_literal: true

module Elah
  class Sink
    # How requests become events, and which answers they get, prepared once for {Requests#record}. An event is a JSON object: what is known
    # of its sender, then `path`, `headers` and `params` of the request. The other half is native (ext/elah/src/sink_intake.rs).
    Intake = SinkIntake
    class Intake
      # How many senders are remembered.
      SENDERS_MAX = 4096

      # @param answers [Hash{Symbol=>Array(HeaderSet, String)}] headers and text by durability: `:memory` and `:disk`
      # @param told [Hash{Symbol=>Array(HeaderSet, String, String)}] the same for requests that say by `Prefer` which they want: headers, and
      #   the text before and after the event's id
      # @param except [Array<String>] names of headers that are not kept, in lower case
      # @param careful [Array<String>] names of headers, in lower case; requests with one of them are left to the app
      # @param member [String] of the parameters: the event is about the path that it names
      # @param paths [NameCounts] where is counted which path the events are about
      # @param senders_max [Integer]
      # @return [Intake]
      def self.prepare(answers:, told:, except: [], careful: [], member: "path",
                       paths: NameCounts.new, senders_max: SENDERS_MAX)
        rows = DURABILITIES.first(2).map { |durability| [*answers.fetch(durability), nil] } + told.fetch_values(*DURABILITIES.first(2))
        open(except, careful, member, paths, senders_max, rows)
      end

      # @!method allow(requests, until_ms)
      #   Bounds what {Requests#responder} takes before the next request goes to its handler, which may look at the time and at what was
      #   {#taken}, and allow more. Before the first call all are allowed.
      #   @param requests [Integer]
      #   @param until_ms [Integer] milliseconds since 1970, by the journal's clock
      #   @return [void]

      # @!method taken
      #   @return [Integer] how many requests responders have taken since the last call

      # @!method known?(request)
      #   @param request [Elah::Request, Elah::API::RackRequest]
      #   @return [Boolean] whether the sender of a request, by its address and its User-Agent, needs not be told: it is remembered, or the
      #     request is one that {Requests#record} never takes

      # @!method know(request, head)
      #   Remembers the sender of a request.
      #   @param request [Elah::Request]
      #   @param head [String] a JSON object with one member at least, without its closing brace

      # @!method forget
      #   Forgets all senders.
    end
  end
end
