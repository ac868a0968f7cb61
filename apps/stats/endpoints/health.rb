# frozen_string_literal: true

require_relative "support"

module Stats
  module Endpoints
    # The health checks of load balancers and supervisors, for the process and, separately, for the destination.
    class Health < Elah::API
      format :json
      helpers Support

      desc "Reports that the process runs"
      get(:livez) { { status: "alive" } }

      desc "Reports that the process accepts and delivers events"
      get :readyz do
        service.sink.check_ready
        Elah::Store.check_ready
        { status: "ready" }
      end

      desc "Reports whether the destination accepts events: 503 while it does not"
      get :sinkz do
        health = service.sink.health
        status 503 unless health.ok?
        { status: health.ok? ? "delivering" : "waiting", **health.to_h.transform_keys(&:to_sym).except(:ok) }
      end

      desc "Shows that accepted = delivered + queued + dead, of every stream and minute"
      get :sinks do
        authorize!
        minutes = params["minutes"].to_s[/\A\d{1,7}\z/]
        report = service.sink.report(minutes: minutes ? minutes.to_i : 60)
        { holds: report["holds"], sinks: [report] }
      end
    end
  end
end
