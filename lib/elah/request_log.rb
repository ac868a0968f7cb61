# frozen_string_literal: true

require_relative "native"

module Elah
  # Owns the line per request that `log_requests` asks for. It stands around the app, so it tells of what reaches Ruby: what
  # the core refuses alone has no line.
  class RequestLog
    # Notes the status with which a request is answered.
    module Status
      # @return [Integer, nil] nil before the answer
      attr_reader :status

      %i[respond redirect respond_with_file respond_with_problem respond_to_rack record start].each do |answer|
        define_method(answer) do |status, *rest|
          @status = status
          super(status, *rest)
        end
      end
    end

    # @param app [#handle, #router, #streamed_routes, #gates, #responders]
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

    # @return [Hash{Elah::API::Gate=>Array<Integer>}]
    def gates = @app.gates

    # @return [Array] none: what a responder answers would have no line
    def responders = []

    # Answers a request through the app, then writes its line. The query is left out, since it may hold secrets.
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
                "id #{request.id}, from #{request.remote_ip}")
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
