# frozen_string_literal: true

# The errors of links that a client describes, with the field.
module Links
  # A field has an invalid value: 422.
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

  # A browser requested a missing or expired link: a page with this status. Other clients get a problem document.
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
