# frozen_string_literal: true

# What the APIs in Grape have in common: problems, and JSON that may be a text already.
require "grape"
require "json"
require_relative "../ruby_apis/problem"

module API
  def self.included(api)
    api.format :json
    api.formatter :json, ->(value, _env) { value.is_a?(String) ? value : JSON.generate(value) }
    api.error_formatter :json, ->(message, *) { JSON.generate(message) }
    api.rescue_from(Problem) do |problem|
      error!(problem.to_h, problem.status, "Content-Type" => Problem::CONTENT_TYPE, "Cache-Control" => "no-store")
    end
    api.helpers do
      def document
        fields = env["api.request.body"]
        fields.is_a?(Hash) ? fields : raise(Problem.new(400, "validation_failed"))
      end
    end
  end
end
