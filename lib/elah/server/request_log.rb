# frozen_string_literal: true

require_relative "../native"

module Elah
  # The log line per request of the option `log_requests`. It wraps the app, so requests that the core refuses have no line.
  class RequestLog
    # Records the status of the response.
    module Status
      # @return [Integer, nil] nil before the response
      attr_reader :status

      %i[respond redirect respond_with_file respond_with_problem respond_to_rack start].each do |method|
        define_method(method) do |status, *rest|
          @status = status
          super(status, *rest)
        end
      end
    end

    # @param app [Elah::Framework::Dispatcher, Elah::Rack::Adapter]
    # @param log [Elah::Log]
    def initialize(app, log)
      @app = app
      @log = log
      Request.prepend(Status)
    end

    # @return [Elah::Router]
    def router = @app.router

    # @return [Array<Integer>]
    def streamed_routes = @app.streamed_routes

    # @return [Hash{Elah::Framework::Gate=>Array<Integer>}]
    def gates = @app.gates

    # @return [Symbol]
    def cancels_gone = @app.cancels_gone

    # @param request [Elah::Request]
    # @return [String, nil] the path of its route, if the app knows it
    def route_of(request) = (@app.route_of(request) if @app.respond_to?(:route_of))

    # Handles a request, then writes its line, without the query, which may contain secrets.
    #
    # @param request [Elah::Request]
    def handle(request)
      started_at = now
      @app.handle(request)
      write(request, request.status, started_at)
    rescue Exception => e
      write(request, "failed with #{e.class}", started_at)
      raise
    end

    private

    def write(request, outcome, started_at)
      @log.info("#{request.request_method} #{request.path} #{outcome || 'taken over'} in #{((now - started_at) * 1000).round(1)} ms, " \
                "id #{request.id}#{", from #{request.remote_ip}" if request.remote_ip}")
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
