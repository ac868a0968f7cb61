# frozen_string_literal: true

module Elah
  module JSON
    # The rows of a request in bulk: a list of objects of which one member is read and one is given back, and the answer with an object for
    # each. Far cheaper than {JSON.parse} and {JSON.generate}, since no Hash is made for any of them.
    #
    # @example
    #   rows = Elah::JSON::Rows.read('{"orders":[{"item":"a7","ref":1},{"ref":[2]}]}', lists: ["orders"], member: "item", echo: "ref")
    #   rows.text(0)                                           # => "a7"
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

      # @!method text(row)
      #   @param row [Integer] from 0 on
      #   @return [String, nil] the member of the row, nil when it is no text

      # @!method number(row)
      #   The number that the member of a row begins with, read without a String for it: 12 of "12/price".
      #
      #   @param row [Integer]
      #   @return [Integer, nil] nil when there is none, or one of more than 18 digits

      # @!method rest(row, beginning)
      #   What follows a beginning in the member of a row: "price" after "12/" of "12/price".
      #
      #   @param row [Integer]
      #   @param beginning [String]
      #   @return [String, nil] nil when nothing follows, or the member does not begin so

      # @!method add_calls(row, beginnings, calls, bytes_max)
      #   Adds a call for each row from one on whose member begins as is known for its number; what follows is the last text of the call. It ends
      #   at the first row that does not begin so, or of which nothing follows, or too much.
      #
      #   @param row [Integer] the first
      #   @param beginnings [Beginnings]
      #   @param calls [Entity::CallColumns]
      #   @param bytes_max [Integer] of what follows
      #   @return [Integer] the row at which it has ended, {#size} after the last

      # What members may begin with, each a number in digits and more, and the key of the entity whose calls such rows are.
      class Beginnings
        # @!method add(number, text, key)
        #   @param number [Integer] that the text begins with; what was known for it is forgotten
        #   @param text [String]
        #   @param key [String] 1 to 255 bytes
        #   @return [nil]
      end

      # @!method answer(name, members)
      #   Writes an object with a list of objects, one for each row in their order: what is given back, and then some members.
      #
      #   @param name [String] of the list
      #   @param members [Array<String>] of each row as JSON, as `"a":1,"b":2`
      #   @yieldparam member [Object] each of `members` that is no String
      #   @yieldparam row [Integer]
      #   @yieldreturn [String] the members of that row
      #   @return [String]
      #   @raise [ArgumentError] when there are not as many as rows
      #   @raise [JSON::GenerateError] when one is not valid UTF-8

      private_class_method :read_native
    end
  end
end
