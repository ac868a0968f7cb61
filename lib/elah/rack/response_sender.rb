# frozen_string_literal: true

require_relative "delivery"

module Elah
  module Rack
    # The response to a request: sends the result of a Rack app, whatever its form, then closes bodies and runs callbacks.
    class ResponseSender
      include Delivery

      NO_ASYNC = "Elah does not serve asynchronous responses as Thin did: every request has a fiber of its own, so wait in it " \
                 "and return the response."
      BODILESS = [204, 205, 304].freeze
      private_constant :BODILESS

      # Sends a whole response, in one step if possible.
      #
      # @param request [Elah::Request]
      # @param response [Array(#to_i, #each, #each)] status, headers and body, as a Rack app returns them
      # @raise (see #give)
      def self.deliver(request, response)
        status, headers, body = response
        request.respond_to_rack(status, headers, body) or new(request, status, headers, body).give
      end

      # Cleans up after an app that raised instead of returning a response. If it took the connection over, nothing else would close that.
      #
      # @param request [Elah::Request]
      # @param exception [Exception]
      # @return [Exception] the one to raise
      def self.failed(request, exception)
        request.env["rack.hijack_io"]&.close
        is_async = exception.is_a?(UncaughtThrowError) && exception.tag == :async
        exception = InvalidRackResponse.new("The app threw :async. #{NO_ASYNC}") if is_async
        new(request, nil, nil, nil).finish(exception)
        exception
      end

      # @param request [Elah::Request]
      # @param status [#to_i]
      # @param headers [#each]
      # @param body [#each, #call]
      def initialize(request, status, headers, body)
        @request = request
        @status = status
        @headers = headers
        @body = body
      end

      # Sends the response, closes the body, and then calls `rack.response_finished`. A client that has disconnected is not an error.
      #
      # @raise [Exception] an exception of the body; the connection is closed if the response had begun
      # @raise [Elah::InvalidRackResponse]
      # @raise [Elah::InvalidHeader]
      # @raise [Elah::InvalidStatus]
      def give
        send_response
      rescue Exception => e # -- it is raised again, unless it is about a client
        @error = e
        break_off
        raise unless ClientGone.caused?(e)
      ensure
        begin
          close_body
        ensure
          finish(@error)
        end
      end

      # Calls the callables of `rack.response_finished`, the last one first.
      #
      # @param error [Exception, nil] why there is no response, or only a part of one
      def finish(error)
        @request.rack_finishers&.reverse_each do |finisher|
          finisher.call(@request.env, @status, @headers, error)
        rescue StandardError, ScriptError => e
          Log.current.exception(e, "A callable of rack.response_finished failed")
          ErrorReports.report(e, request_id: @request.id, method: @request.request_method, path: @request.path)
        end
      end

      private

      def send_response
        return if @request.env.key?("rack.hijack_io")

        check
        return take_over(@headers["rack.hijack"]) if @headers["rack.hijack"] && @request.request_method != "HEAD"
        return take_over(@body) if @status == 101
        return respond("") if BODILESS.include?(@status)

        send_body
      end

      def send_body
        if chunked?
          send_chunked
        elsif (path = path_of_file)
          send_file(path)
        elsif @request.request_method == "HEAD"
          respond("", announced_length || length_of_parts)
        elsif (parts = parts_of_body)
          send_parts(parts)
        elsif @body.respond_to?(:each)
          send_each
        else
          send_stream
        end
      end

      # Converts status and headers to one form each.
      def check
        @status = status_of(@status) if @status.is_a?(String)
        raise InvalidRackResponse, "The app returned the status -1. #{NO_ASYNC}" if @status == -1

        unless @status.is_a?(Integer) && @headers.respond_to?(:each)
          raise InvalidRackResponse, "An app must return a status, headers that respond to each, and a body; " \
                                     "this one returned #{@status.inspect}, #{@headers.class} and #{@body.class}."
        end
        @headers = hash_of(@headers) unless @headers.is_a?(Hash)
      end

      def status_of(text)
        return text.to_i if text.match?(/\A\d{3}\z/)

        raise InvalidRackResponse, "The app returned the status #{text.inspect}. It must be an Integer, or a String of three digits."
      end

      def hash_of(pairs)
        hash = {}
        pairs.each { |name, value| name.start_with?("rack.") ? hash[name] = value : (hash[name] ||= []).push(*value) }
        hash
      end

      # `to_ary` closes a body of Rack 3, but not one of Rack 2. A body with `closed?` is not closed twice.
      def close_body
        return unless @body.respond_to?(:close)

        @body.close unless @body.respond_to?(:closed?) && @body.closed?
      end
    end
  end
end
