# frozen_string_literal: true

require "rack/utils"
require "securerandom"

# A request that a contract refuses, and the document that says so.
class Problem < StandardError
  CONTENT_TYPE = "application/problem+json"

  attr_reader :status, :code

  def initialize(status, code)
    super(code.tr("_", " "))
    @status = status
    @code = code
  end

  def to_h
    { type: "about:blank", title: Rack::Utils::HTTP_STATUS_CODES[status], status: status, detail: message, code: code,
      request_id: SecureRandom.hex(8) }
  end
end
