# frozen_string_literal: true

# What the APIs in Sinatra have in common: production without what an API does not need, problems, JSON in and out.
require "json"
require "sinatra/base"
require_relative "../ruby_apis/problem"

class API < Sinatra::Base
  set :environment, :production
  set :logging, false
  set :protection, false
  set :show_exceptions, false
  set :raise_errors, false
  set :dump_errors, false
  disable :static

  error(Problem) do |problem|
    headers "Cache-Control" => "no-store"
    answer(problem.to_h, problem.status, Problem::CONTENT_TYPE)
  end

  private

  # @return [Hash] the body
  def document
    JSON.parse(request.body.read).tap { |fields| raise Problem.new(400, "validation_failed") unless fields.is_a?(Hash) }
  rescue JSON::ParserError
    raise Problem.new(400, "invalid_body")
  end

  # @param object [Object, String] a String is JSON already
  def answer(object, code = 200, type = "application/json")
    status code
    content_type type
    object.is_a?(String) ? object : JSON.generate(object)
  end
end
