# frozen_string_literal: true

# What the APIs in Rails have in common: problems, and the body as a Hash.
require_relative "application"
require_relative "../ruby_apis/problem"

# The APIs read their bodies themselves, and once.
ActionDispatch::Request.parameter_parsers = ActionDispatch::Request.parameter_parsers.except(:json)

class APIController < ActionController::API
  rescue_from(Problem) do |problem|
    response.set_header("Cache-Control", "no-store")
    render(json: problem.to_h, status: problem.status, content_type: Problem::CONTENT_TYPE)
  end

  private

  # @return [Hash]
  def document
    JSON.parse(request.raw_post).tap { |fields| raise Problem.new(400, "validation_failed") unless fields.is_a?(Hash) }
  rescue JSON::ParserError
    raise Problem.new(400, "invalid_body")
  end
end
