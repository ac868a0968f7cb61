# frozen_string_literal: true

# The handler's settings of its response: status, headers, body, redirects.
module Elah
  module Framework
    # Mixed into {Endpoint}.
    module Response
      PERMANENT = "This resource has been moved permanently to %s."
      ALTERNATE = "An alternate resource is located at %s."
      TEMPORARY = "This resource has been moved temporarily to %s."
      private_constant :PERMANENT, :ALTERNATE, :TEMPORARY

      # @param status [Integer, Symbol, nil] nil reads it
      # @return [Integer]
      # @raise [ArgumentError]
      def status(status = nil)
        return @_status || _default_status(@_body) if status.nil?

        @_changed = true
        @_status = _status_number(status)
      end

      # Sets a header; a nil value removes it. Without a name it returns all headers of the response.
      #
      # @param name [String, Symbol, nil]
      # @param value [String, Array<String>, nil]
      # @return [ResponseHeaders, String, Array<String>, nil]
      def header(name = nil, value = nil)
        @_header ||= ResponseHeaders.new
        name ? @_header[name] = value : @_header
      end

      # @param type [String, nil] nil reads it
      # @return [String, nil]
      def content_type(type = nil) = type ? header("content-type", type) : @_header && @_header["content-type"]

      # Sets the body, which the format writes; `body false` is an empty response with 204.
      #
      # @param value [Object, false, nil] nil returns it
      # @return [Object]
      def body(value = nil)
        return @_body if value.nil?

        @_changed = true
        return @_body = value if value

        status 204
        @_body = ""
      end

      # Responds with 204 and no body.
      #
      # @return [void]
      def return_no_content = body(false)

      # Redirects the client: 302, for verbs other than GET and HEAD 303, 301 when permanent.
      #
      # @param url [String]
      # @param permanent [Boolean]
      # @param body [String, nil] instead of a sentence that names the URL
      # @return [void]
      def redirect(url, permanent: false, body: nil, **)
        code, sentence = _redirection(permanent)
        status code
        header "location", url
        content_type "text/plain"
        self.body(body || Kernel.format(sentence, url))
      end

      private

      def _status_number(status)
        case status
        when Integer then status
        when Symbol then Statuses.number(status)
        else raise ArgumentError, "Status code must be Integer or Symbol."
        end
      end

      def _redirection(permanent)
        return [301, PERMANENT] if permanent
        return [302, TEMPORARY] if %w[GET HEAD].include?(@_request.request_method)

        @_request.protocol == "HTTP/1.1" ? [303, ALTERNATE] : [302, TEMPORARY]
      end

      def _default_status(body)
        case @_request.request_method
        when "POST" then 201
        when "DELETE" then Blank.blank?(body) ? 204 : 200
        else 200
        end
      end
    end
  end
end
