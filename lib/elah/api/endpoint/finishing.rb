# frozen_string_literal: true

# The steps of a request that all routes share. The generated `_call` includes only those that it needs.
module Elah
  module Framework
    # Mixed into {Endpoint}.
    # @api private
    module Finishing
      # Responds with the handler's result and settings.
      #
      # @param result [Object] the value of the handler
      def _finish(result)
        body = @_body || result
        status = @_status || _default_status(body)
        headers = @_header || ResponseHeaders.new
        _add_cookies(headers) if @_cookies
        return @_request.respond(status, headers, "") if Statuses.bodiless?(status)

        format = (@_env && @_env["api.format"]) || _format
        headers["content-type"] ||= _blueprint.formats.content_type(format) || Formats::CONTENT_TYPES[format]
        return _send_stream(status, headers) if @_stream

        @_request.respond(status, headers, _written(body, format, headers["content-type"]))
      end

      # Responds to a verb that the path does not have: OPTIONS with the path's verbs, others with 405.
      #
      # @param request [Elah::Request, RackRequest]
      # @param verbs [Array<String>]
      def _refuse(request, verbs)
        @_request = request
        verbs -= ["OPTIONS"] unless _blueprint.options?
        verbs -= ["HEAD"] unless _blueprint.head?
        allow = verbs.join(", ")
        _guarded do
          unless @_request.request_method == "OPTIONS" && _blueprint.options?
            raise Exceptions::MethodNotAllowed, (@_header || ResponseHeaders.new).merge("allow" => allow)
          end

          header "allow", allow
          status 204
          _run_after
          _finish("")
        end
      end

      # Checks the parameters against the declared rules.
      #
      # @raise [Exceptions::ValidationErrors] 400
      def _validate
        errors = _blueprint.checklist.faults(params, self)
        raise Exceptions::ValidationErrors.new(errors: errors, headers: @_header) unless errors.empty?
      end

      # @return [Symbol, nil] the format of the response
      def _format = @_plain ? @_plain.format : _blueprint.formats.fixed

      # Reads and checks the parameters of a route that validates late.
      #
      # @return [Params]
      def _late_params
        @_params = _read_params
        _validate
        @_params
      end

      private

      def _add_cookies(headers)
        set_cookies = @_cookies.set_cookies
        headers["set-cookie"] = [*headers["set-cookie"], *set_cookies] unless set_cookies.empty?
      end

      def _written(body, format, content_type)
        formats = _blueprint.formats
        formatter = formats.formatter(formats.format_of(content_type, format))
        formatter.call(body, _lazy_env).to_s
      end
    end
  end
end
