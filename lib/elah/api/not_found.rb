# frozen_string_literal: true

# The responses to paths without a route.
module Elah
  module Framework
    # Responds that there is no such route, in the error format of the API of that path.
    class NotFound
      MESSAGE = "404 Not Found"
      PASS = { "x-cascade" => "pass" }.freeze
      NO_HEADERS = {}.freeze

      # How an API writes errors. base: common beginning of its paths · type: of its format · formatter: nil where errors are plain text
      Form = Struct.new(:base, :type, :formatter, :options, :problems, keyword_init: true) do
        def covers?(path) = base == "/" || path == base || path.start_with?("#{base}/")
      end

      private_constant :MESSAGE, :PASS, :NO_HEADERS, :Form

      # @param settings [Settings] of the outermost API
      def initialize(settings)
        @cascades = settings[:cascade] != false
        @forms = []
      end

      # @return [Boolean] whether the response tells Rack that another app may have the path
      def cascades? = @cascades

      # Adds an API, the outermost first. Of the APIs with the path, the one with the longest base decides.
      #
      # @param settings [Settings] of the whole class, with those of the APIs around it
      def add(settings)
        form = form(settings) or return
        @forms << form
        @forms = @forms.sort_by.with_index { |added, index| [-added.base.size, index] }
      end

      # Responds with 404.
      def send_not_found(request)
        headers = @cascades && request.is_a?(RackRequest) ? PASS : NO_HEADERS
        respond(request, 404, headers, MESSAGE, detail: "No route fits #{request.path}.")
      end

      # Responds with 400 to an invalid path.
      #
      # @param error [Elah::Router::BadPath]
      def send_bad_path(request, error)
        respond(request, 400, NO_HEADERS, error.message, type: "text/plain", code: "invalid_path")
      end

      private

      # @return [Form, nil] nil when the API sets no format of its own
      def form(settings)
        format, problems = settings[:format], settings[:error_format] == :problem
        return unless format || problems

        formatter = ErrorFormats::BUILT_IN.merge(settings.merged(:error_formatters)).fetch(format, settings[:default_error_formatter])
        Form.new(base: Path.full("", settings, nil), type: Formats::CONTENT_TYPES.merge(settings.merged(:content_types))[format],
                 formatter: (formatter unless formatter == ErrorFormats::Text), options: settings.merged(:rescue_options), problems: problems)
      end

      def respond(request, status, headers, message, detail: message, type: nil, code: nil)
        path = request.path
        form = @forms.find { |known| known.covers?(path) }
        if form&.problems
          type = ErrorFormats::Problem::CONTENT_TYPE
          message = ErrorFormats::Problem.call(detail, status, code, request.id)
        elsif form&.formatter
          type = form.type
          message = form.formatter.call(message, [], form.options, EnvironmentOnDemand.new(request), nil)
        end
        request.respond(status, type ? headers.merge("content-type" => type) : headers, message)
      end
    end
  end
end
