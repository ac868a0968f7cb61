# frozen_string_literal: true

module Elah
  module JSON
    # The rows of a request in bulk: a list of objects of which one member is read and one is given back, and the answer with an object for
    # each. Far cheaper than {JSON.parse} and {JSON.generate}, since no Hash is made for any of them.
    #
    # @example
    #   rows = Elah::JSON::Rows.read('{"orders":[{"item":"a7","ref":1},{"ref":[2]}]}', lists: ["orders"], member: "item", echo: "ref")
    #   rows.texts                                             # => ["a7", nil]
    #   rows.answer("results", ['"price":3', '"error":"none"']) # => '{"results":[{"ref":1,"price":3},{"ref":[2],"error":"none"}]}'
    class Rows
      # Reads a text. Of what is neither the list nor one of the two members only the form is looked at.
      #
      # @param text [String] JSON, an object with the list
      # @param lists [Array<String>] names that the list may have; of several that are there the first of these counts
      # @param member [String] the name of the member that is read
      # @param echo [String] the name of the member that is given back as it was written, whatever it is; one that is null is not
      # @return [Rows, nil] nil when there is no such list
      # @raise [JSON::ParseError]
      def self.read(text, lists:, member:, echo:) = read_native(text, lists, member, echo)

      # @!method size
      #   @return [Integer]

      # @!method texts
      #   @return [Array<String, nil>] the member of each row, nil where it is no text

      # @!method answer(name, members)
      #   Writes an object with a list of objects, one for each row in their order: what is given back, and then some members.
      #
      #   @param name [String] of the list
      #   @param members [Array<String>] of each row as JSON, as `"a":1,"b":2`
      #   @return [String]
      #   @raise [ArgumentError] when there are not as many as rows
      #   @raise [JSON::GenerateError] when one is not valid UTF-8

      private_class_method :read_native
    end
  end
end
