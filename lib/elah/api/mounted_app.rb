# frozen_string_literal: true

# A Rack app inside an API. The app sees the whole path, as under Grape.
module Elah
  module Framework
    # The dispatcher's target for paths below a mounted Rack app.
    class MountedApp
      # @param app [#call]
      def initialize(app)
        @app = app
      end

      # @param request [Elah::Request, RackRequest]
      def handle(request)
        return @app.call(request.env) if request.is_a?(RackRequest)

        begin
          response = @app.call(request.env)
        rescue Exception => e # -- it is raised again
          raise Elah::Rack::ResponseSender.failed(request, e)
        end
        Elah::Rack::ResponseSender.deliver(request, response)
      end
    end
  end
end
