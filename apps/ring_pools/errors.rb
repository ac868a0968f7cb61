# frozen_string_literal: true

# The errors of requests, other than those of their form. Each has a code of the current API and a class of the original's.
module RingPools
  # An invalid request: 422, in the original's API 403.
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

  # A request that contradicts the current state: 409.
  class Conflict < Invalid
    def status = 409
  end

  # There is no such pool, lease or number: 404.
  class NotFound < Invalid
    def status = 404
    def original_class = "RecordNotFound"
  end
end
