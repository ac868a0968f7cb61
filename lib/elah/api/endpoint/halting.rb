# frozen_string_literal: true

# Early ends of a handler, and the responses to exceptions.
require_relative "../standard_library"

module Elah
  module Framework
    # Mixed into {Endpoint}.
    module Halting
      # A response that a rescue block made itself; its body is sent unchanged.
      #
      # @attr_reader [Integer] status
      # @attr_reader [Hash{String=>Object}] headers
      # @attr_reader [Object] body
      RawResponse = Struct.new(:status, :headers, :body)

      BODY_HEADERS = %w[etag last-modified transfer-encoding].freeze

      # Types that a browser shows as a page.
      HTML = %r{\A\s*(?:text/html|application/xhtml\+xml)\s*(?:[;,]|\z)}i

      # Types in which a browser may run scripts, unless a formatter has written XML.
      MARKUP = %r{\A\s*(?:text/html|[^;,]*[/+]xml)\s*(?:[;,]|\z)}i
      private_constant :BODY_HEADERS, :HTML, :MARKUP

      # Ends the handler with an error.
      #
      # @param message [Object] a text, or an object that the error formatter writes; a Hash alone may be without braces
      # @param status [Integer, Symbol, nil] nil is `default_error_status`
      # @param headers [Hash{String=>Object}, nil] headers beside those set already; braces are optional
      # @param backtrace [Array<String>, nil] shown where `rescue_from ..., backtrace: true` asks for it
      # @param original [Exception, nil] shown where `original_exception: true` asks for it
      # @param named [Hash{Symbol=>Object}] `code:`, the stable code in a problem document, and headers without braces
      # @return [noreturn]
      # @raise [Halt]
      def error!(message = (is_hash = true), status = nil, headers = nil, backtrace = nil, original = nil, **named)
        message, named = named, {} if is_hash
        code = named.delete(:code)
        all_headers = @_header ? @_header.dup : ResponseHeaders.new
        all_headers.merge!(headers || {}, named)
        @_backtrace = backtrace
        @_original = original
        raise Halt.new(message, _status_number(status || _blueprint.default_error_status), all_headers, code), nil, []
      end

      # For rescue blocks: a response that no formatter changes.
      #
      # @param message [Object] the body
      # @param status [Integer]
      # @param headers [Hash{String=>Object}, nil]
      # @return [RawResponse]
      def rack_response(message, status = _blueprint.default_error_status, headers = nil)
        RawResponse.new(status, headers || { "content-type" => _error_type }, message)
      end

      # For rescue blocks: an error by its parts.
      #
      # @param error [Hash{Symbol=>Object}] message, status, headers
      # @return [noreturn]
      def error_response(error = {}) = error!(error[:message], error[:status], error[:headers])

      # Responds to an exception with the first matching rescue_from, or raises it.
      def _rescue(error)
        raise error if @_streaming

        handler = _blueprint.rescue_handler(error)
        raise error unless handler
        return _respond_with_exception(error) if handler == :default

        @_status = @_body = @_stream = nil
        @_header = _kept_headers
        @_is_rescuing = true
        _respond_with_rescue_result(_run_rescue(handler, error))
      rescue Halt => e
        _respond_with_halt(e)
      end

      # Responds to `throw :error, message: ..., status: ...`.
      def _rescue_throw(error)
        return _rescue(error) unless error.tag == :error && error.value.is_a?(Hash)

        thrown = error.value
        _respond_with_halt(Halt.new(thrown[:message], thrown[:status] || _blueprint.default_error_status,
                                    thrown[:headers] || {}))
      end

      def _respond_with_halt(halt)
        raise halt if @_streaming

        _respond_with_error(halt.body, halt.status, halt.headers, halt.code, @_backtrace, @_original)
      end

      private

      def _run_rescue(handler, error)
        if handler.is_a?(Symbol)
          raise NoMethodError, "undefined method `#{handler}'" unless respond_to?(handler, true)

          handler = method(handler)
          handler.arity.zero? ? handler.call : handler.call(error)
        else
          handler.arity.zero? ? instance_exec(&handler) : instance_exec(error, &handler)
        end
      end

      def _respond_with_rescue_result(response)
        if response.is_a?(RawResponse)
          @_request.respond(response.status, ResponseHeaders.new.merge!(response.headers), response.body.to_s)
        elsif response.respond_to?(:finish)
          status, headers, body = response.finish
          text = +""
          body.each { |piece| text << piece }
          @_request.respond(status, ResponseHeaders.new.merge!(headers), text)
        else
          _respond_with_exception(Exceptions::InvalidResponse.new)
        end
      end

      def _respond_with_exception(error)
        is_own = error.is_a?(Exceptions::Base)
        status, headers, code = is_own ? [error.status, error.headers, error.code] : []
        message = is_own && _blueprint.problems? ? _detail(error) : error.message
        @_invalid = error if error.is_a?(Exceptions::ValidationErrors)
        headers = (_kept_headers || {}).merge(headers || {})
        _respond_with_error(message, status || _blueprint.default_error_status, headers, code, error.backtrace, error)
      end

      # Keeps the headers set before the exception, except those that describe the body, which is not sent.
      def _kept_headers = @_header&.dup&.delete_if { |name, _| name.start_with?("content-") || BODY_HEADERS.include?(name) }

      def _detail(error)
        return error.detail unless error.is_a?(Exceptions::ValidationErrors) && _json_as_form?

        "#{error.detail}; the body came as a form: JSON needs the header Content-Type: application/json"
      end

      def _respond_with_error(message, status, headers, code, backtrace, original)
        all_headers = ResponseHeaders.new.merge!(headers)
        all_headers.delete("x-cascade") unless @_request.is_a?(RackRequest)
        if _blueprint.problems?
          all_headers["content-type"] = ErrorFormats::Problem::CONTENT_TYPE
          text = ErrorFormats::Problem.call(message, status, code, @_request.id, @_invalid)
        else
          all_headers["content-type"] ||= _error_type
          text = _error_text(message, backtrace, original, all_headers["content-type"])
        end
        @_request.respond(status, all_headers, Statuses.bodiless?(status) ? "" : text)
      end

      # The message may have the client's own text in it, so a page is escaped as a whole.
      def _error_text(message, backtrace, original, type)
        formatter = _blueprint.error_formatter(_format)
        text = formatter.call(_presented(message), backtrace, _blueprint.rescue_options, _lazy_env, original)
        pattern = formatter.equal?(ErrorFormats::Text) ? MARKUP : HTML
        Array(type).any?(pattern) ? CGI.escapeHTML(text) : text
      end

      def _error_type = _blueprint.formats.content_type(_format) || "text/html"

      # A Hash with `with: Entity` is presented by it.
      def _presented(message)
        return message unless message.is_a?(Hash) && message.key?(:with)

        shown = message[:with].represent(message.except(:with))
        shown.respond_to?(:serializable_hash) ? shown.serializable_hash : shown
      end
    end
  end
end
