# frozen_string_literal: true

# An API whose plain requests the responder of a sink records and answers, and whose others say that they were not, for
# test/integration/responders_test.rb.
class Recorders < Elah::API
  JSON_TYPE = Elah::HeaderSet.new({ "content-type" => "application/json" })
  EVENTS = []
  IS_AWAY = Elah.settings.fetch(:recorders_away, "false") == "true"
  SINK = Elah::Sink.new("seen") { |events| IS_AWAY ? raise(Elah::Unavailable, "away") : EVENTS.concat(events.map { |event| event["params"] }) }
  INTAKE = Elah::Sink::Intake.prepare(careful: %w[dnt], answers: { memory: [JSON_TYPE, "{}"], disk: [JSON_TYPE, "{}"] },
                                      told: { memory: [JSON_TYPE, '{"id":"', '"}'], disk: [JSON_TYPE, '{"id":"', '"}'] })

  format :json

  helpers do
    def leave_alone = request.respond(202, {}, "left alone")
  end

  get("seen", raw: true, responder: SINK.responder(INTAKE, :memory, false)) { leave_alone }
  post("seen", raw: true, late_body: true, responder: SINK.responder(INTAKE, :disk, true)) { leave_alone }
  post("failing", raw: true, late_body: true, responder: SINK.responder(INTAKE, :memory, true)) do
    SINK << request.body
    leave_alone
  end
  post("known", raw: true) { INTAKE.know(request, '{"site":"shop"'); request.respond(200, {}, Process.pid.to_s) }
  post("allowance/:requests", raw: true) { request.respond(200, {}, INTAKE.allow(request.route_param("requests").to_i, params["until_ms"].to_i).inspect) }
  post("close", raw: true) { request.respond(200, {}, SINK.close.inspect) }
  get(:taken) { { taken: INTAKE.taken } }
  get(:events) { SINK.flush && EVENTS }
end

run Recorders
