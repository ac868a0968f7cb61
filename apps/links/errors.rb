# frozen_string_literal: true

# Owns what can be wrong with a link that a client describes, apart from the form of the request, and with its place.
module Links
  # A field has a value that no link can have: 422.
  class Invalid < StandardError
    # @return [String] stable, for programs
    attr_reader :code

    # @param code [String]
    # @param message [String] a sentence
    def initialize(code, message)
      @code = code
      super(message)
    end
  end

  # A browser asks for a link that leads nowhere, or no longer: a page of this status. Other clients get a problem document.
  class Dead < StandardError
    # @return [Integer]
    attr_reader :status

    # @param status [Integer]
    # @param message [String] a sentence
    def initialize(status, message)
      @status = status
      super(message)
    end
  end
end
