# frozen_string_literal: true

# Owns the answers to paths that lead nowhere.
module Elah
  class API
    # Says that there is no such route, in the error format of the API.
    class NotFound
      MESSAGE = "404 Not Found"
      PASS = { "x-cascade" => "pass" }.freeze
      NO_HEADERS = {}.freeze
      private_constant :MESSAGE, :PASS, :NO_HEADERS

      # @param settings [Settings] of the API
      def initialize(settings)
        @cascades = settings[:cascade] != false
        @problems = settings[:error_format] == :problem
      end

      # @return [Boolean] whether Rack is told that another app may know the path
      def cascades? = @cascades

      # Answers 404.
      def answer(request)
        headers = @cascades && request.is_a?(RackRequest) ? PASS : NO_HEADERS
        return problem(request, 404, headers, "No route fits #{request.path}.", nil) if @problems

        request.respond(404, headers, MESSAGE)
      end

      # Answers 400 to a path that cannot be read.
      #
      # @param error [Elah::Router::BadPath]
      def answer_bad_path(request, error)
        return problem(request, 400, NO_HEADERS, error.message, "invalid_path") if @problems

        request.respond(400, { "content-type" => "text/plain" }, error.message)
      end

      private

      def problem(request, status, headers, detail, code)
        request.respond(status, headers.merge("content-type" => ErrorFormats::Problem::CONTENT_TYPE),
                        ErrorFormats::Problem.call(detail, status, code, request.id))
      end
    end
  end
end
