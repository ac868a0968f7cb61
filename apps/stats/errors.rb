# frozen_string_literal: true

# The errors of requests, beside those that Elah itself refuses.
module Stats
  # A request, or one of its events, is refused.
  class Refused < StandardError
    # @return [String] stable, for programs
    attr_reader :code
    # @return [Integer]
    attr_reader :status

    # @param code [String]
    # @param message [String] a sentence
    # @param status [Integer]
    def initialize(code, message, status = 422)
      @code = code
      @status = status
      super(message)
    end

    # @return [Hash] as one of the results of a batch
    def to_h = { status: status, code: code, detail: message }
  end
end
