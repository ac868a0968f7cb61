# frozen_string_literal: true

# Owns what can be wrong with a request apart from its form. Each has a code of today's API and a class of the original's.
module RingPools
  # What a client asks for is impossible: 422, in the original's API 403.
  class Invalid < StandardError
    # @return [String] stable, for programs
    attr_reader :code

    # @param code [String]
    # @param message [String] a sentence
    def initialize(code, message)
      @code = code
      super(message)
    end

    # @return [Integer]
    def status = 422

    # @return [String] as the original names it
    def original_class = "RecordInvalid"
  end

  # What is asked for contradicts what there is: 409.
  class Conflict < Invalid
    def status = 409
  end

  # There is no such pool, lease or number: 404.
  class NotFound < Invalid
    def status = 404
    def original_class = "RecordNotFound"
  end
end
