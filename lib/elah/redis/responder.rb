# frozen_string_literal: true

module Elah
  class Redis < Clients::Redis
    # The `responder:` of a route whose plain requests are answered by a {Script} that reads ranked members, before the handler begins: no
    # fiber waits, and no object of Ruby is made for the command, the members or the answer. {Script#responder} makes one.
    #
    # For a key that {#add} was called with, the script is run with the arguments given there, and the value of the last parameter behind
    # them. It returns a list: as many whole numbers as there are gaps between the texts but the last, the rank of the first member, and
    # the place of one member or a list of places. A place is eight bytes for each component of the score, the most significant first, so
    # that they sort as scores rank, eight of a sequence unless ties are decided by member, and the member's name.
    #
    # The handler begins when a request has a query, when nothing is known of its key, when there is no connection, and when the script
    # returns something else, as nil. So it asks the same server, which is what opens the connection, and can answer everything. When the
    # server does not answer, the handler begins too, and its first wait raises what the responder met, after what it waits for was sent:
    # let that be a read.
    Responder = Clients::RedisResponder

    class Responder
      # Answers requests about a key from now on; what was known of it is forgotten.
      #
      # @param key [String] value of the parameter of the route
      # @param keys [Array<String>] `KEYS`
      # @param args [Array<String, Symbol, Numeric>] the first of `ARGV`
      # @param order [Symbol, Array<Symbol>] of the scores, as that of a {RankedSet}
      # @param decimals [Integer, Array<Integer>]
      # @param ties [Symbol]
      # @return [nil]
      # @raise [RankedSet::InvalidOrder]
      def add(key, keys:, args: [], order: :desc, decimals: 0, ties: :earliest)
        words = [keys.size, *keys, *args]
        add_native(key, ["EVALSHA", @script.digest, *words], ["EVAL", @script.source, *words], *RankedSet::Arguments.order(order, decimals, ties))
      end

      # @!method remove(key)
      #   Leaves requests about a key to the handler from now on.
      #   @param key [String]
      #   @return [nil]

      # @!method clear
      #   Forgets all keys.
      #   @return [nil]

      # @api private
      # @param script [Script]
      # @return [Responder] self
      def of(script)
        @script = script
        self
      end

      private :add_native
    end
  end
end
