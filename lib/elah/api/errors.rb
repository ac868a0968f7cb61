# frozen_string_literal: true

# The exceptions of the framework. Those under Exceptions become responses by themselves. Their names and messages are Grape's: for `rescue_from
# Grape::Exceptions::ValidationErrors` only change the first word.
module Elah
  class API
    # The definition of an API is contradictory. Raised at boot only.
    class DefinitionError < Error; end

    # The exceptions that become responses.
    module Exceptions
      # Root of the exceptions that become responses.
      class Base < Error
        # @return [Integer, nil] of the response; nil is `default_error_status`
        attr_reader :status

        # @return [Hash{String=>Object}, nil] of the response
        attr_reader :headers

        # @return [String, nil] stable, for problem documents
        attr_reader :code

        # @param text [String, nil] the message
        # @param message [String, nil] the same by its keyword, for subclasses: `super(status: 418, message: "...")`
        # @param status [Integer, nil] nil is `default_error_status`
        # @param headers [Hash{String=>Object}, nil]
        # @param code [String, nil]
        def initialize(text = nil, message: text, status: nil, headers: nil, code: nil, **)
          @status = status
          @headers = headers
          @code = code
          super(message)
        end

        # @return [String] detail of a problem document, where Grape's message says less
        def detail = message
      end

      # The body does not match its content type.
      class InvalidMessageBody < Base
        # @return [String] the fault
        attr_reader :detail

        # @param type [String] the content type
        # @param detail [String]
        def initialize(type, detail = "The body is not what its content type, #{type}, says.")
          @detail = detail
          super("\nProblem:\n  message body does not match declared format\nResolution:\n  when specifying #{type} as " \
                "content-type, you must pass valid #{type} in the request's 'body' ",
                status: 400, code: "invalid_body")
        end
      end

      # The query or form cannot be read.
      class InvalidParameters < Base
        # @api private
        def initialize(reason) = super(reason, status: 400, code: "invalid_parameters")
      end

      # The Accept header does not name this API.
      class InvalidAcceptHeader < Base
        # @return [String] the fault
        attr_reader :detail

        # @api private
        def initialize(reason, headers)
          @detail = reason
          super("\nProblem:\n  Invalid accept header\nResolution:\n  #{reason}", status: 406, headers: headers)
        end
      end

      # The Accept header names a version that is not served.
      class InvalidVersionHeader < Base
        # @return [String] the fault
        attr_reader :detail

        # @api private
        def initialize(reason, headers)
          @detail = reason
          super("\nProblem:\n  Invalid version header\nResolution:\n  #{reason}", status: 406, headers: headers)
        end
      end

      # The path exists, the verb does not.
      class MethodNotAllowed < Base
        # @api private
        def initialize(headers) = super("405 Not Allowed", status: 405, headers: headers)

        # @return [String] the allowed verbs
        def detail = "This path allows #{headers['allow']}."
      end

      # The object cannot be written in the format.
      class InvalidFormatter < Base
        # @api private
        def initialize(model, format) = super("cannot convert #{model} to #{format}")
      end

      # A rescue_from block ended without error! or a response.
      class InvalidResponse < Base
        def initialize = super("Invalid response")
      end

      # One parameter, or one group of parameters, is invalid.
      class Validation < Base
        # @return [Array<String>] full names, e.g. "items[0][name]"
        attr_accessor :params

        # @param params [Array<String>] full names, e.g. "items[0][name]"
        # @param message [String, Symbol, Proc, nil] the end of the sentence, or its name
        # @param code [String, nil] stable; by default derived from a Symbol message
        # @param rest [Hash{Symbol=>Object}] `status:` and `headers:` of {Base}
        def initialize(params:, message: nil, code: nil, **rest)
          @params = params
          super(message && Framework::Messages.text(message), code: code || Framework::Messages.code(message), **rest)
        end

        # @return [String]
        def as_json(*) = message

        # @param state [Array<Object>] of the json library
        # @return [String]
        def to_json(*state) = message.to_json(*state)
      end

      # Several parameters are invalid; a validator raises it for all of them.
      class ValidationArrayErrors < Base
        # @return [Array<Validation>]
        attr_reader :errors

        # @param errors [Array<Validation>]
        def initialize(errors)
          @errors = errors
          super("#{errors.size} parameters are wrong")
        end
      end

      # All invalid parameters of a request.
      class ValidationErrors < Base
        include Enumerable

        # @return [Hash{Array<String>=>Array<Validation>}] by the parameters concerned
        attr_reader :errors

        # @param errors [Array<Validation>]
        # @param headers [Hash{String=>Object}, nil]
        def initialize(errors: [], headers: nil)
          @errors = errors.group_by(&:params)
          super(full_messages.join(", "), status: 400, headers: headers, code: "validation_failed")
        end

        # @yieldparam params [Array<String>]
        # @yieldparam error [Validation]
        def each
          errors.each_pair { |params, list| list.each { |error| yield params, error } }
        end

        # @return [Array<String>] e.g. ["name is missing", "from, to are mutually exclusive"]
        def full_messages
          map { |params, error| "#{params.join(', ')} #{error.message}" }.uniq
        end

        # @return [Array<Hash{Symbol=>Array<String>}>] params and messages
        def as_json(*) = errors.map { |params, list| { params: params, messages: list.map(&:message) } }

        # @param state [Array<Object>] of the json library
        # @return [String]
        def to_json(*state) = as_json.to_json(*state)
      end
    end
  end

  # The parts of {API}.
  module Framework
    DefinitionError = API::DefinitionError
    Exceptions = API::Exceptions

    # Errors of the server while a request is read or its response is sent: no `rescue_from :all` rescues them.
    PASSING = [BadRequest, Cancelled, ClientGone, DeadlineExceeded].freeze

    # Ends a handler with a response. Raised by `error!`. It is not a StandardError, so that no `rescue => e` of a handler rescues it.
    class Halt < Exception # rubocop:disable Lint/InheritException
      # @return [String, Hash{Symbol=>Object}] the message
      attr_reader :body

      # @return [Integer]
      attr_reader :status

      # @return [Hash{String=>Object}]
      attr_reader :headers

      # @return [String, Symbol, nil] the stable code of a problem document
      attr_reader :code

      # @api private
      # @param body [String, Hash] the message
      # @param status [Integer]
      # @param headers [Hash]
      # @param code [String, nil] the stable code of a problem document
      def initialize(body, status, headers, code = nil)
        @body = body
        @status = status
        @headers = headers
        @code = code
        super()
      end

      # @return [String] the text in the log where no response can follow, as in a stream
      def message = "error! was called with status #{@status}: #{@body}"
    end
  end
end
