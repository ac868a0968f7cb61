# frozen_string_literal: true

# An API whose plain requests a responder of a ranked set answers, and whose others say that they were not, for
# test/integration/ranked_set_responder_test.rb.
class Ladder < Elah::Entity
  MEMBERS_MAX = 4

  index :rows
  durability Elah.settings.fetch(:ladders_durability, "disk").to_sym

  class << self
    attr_accessor :all
  end

  attr_reader :responder

  def restore
    @set = Elah::RankedSet.load(Ladder.all.index(:rows), prefix: key, members_max: MEMBERS_MAX)
    @responder = Elah::RankedSet::Responder.new(@set, headers: { "content-type" => "application/json" }, list: ['{"size":', ',"rows":', "}"],
                                                      member_bytes_max: 10, index: index(:rows), prefix: key, operator: :best, members_max: MEMBERS_MAX)
  end

  def open = nil
end

Ladder.all = Ladder.in(Elah::Store.open(File.join(Elah.config.data, "ladders")))

class Ladders < Elah::API
  CHANGES = []

  format :json

  helpers do
    def id = request.route_param("id")
    def resting = Ladder.all.at_rest(id)&.responder
    def idle = Ladder.all.idle(id)&.responder
    def leave_alone = request.respond(202, {}, "left alone")
  end

  post("ladders/:id") { Ladder.all[params[:id]].open }
  get("ladders/:id/top", raw: true) { resting&.top(request, 2) || leave_alone }
  get("ladders/:id/:member", raw: true) { resting&.row(request) || leave_alone }
  get("ladders/:id/:member/around", raw: true) { resting&.around(request, 1) || leave_alone }
  put("ladders/:id/:member", raw: true, late_body: true) { idle&.submit(request) { |text| CHANGES << text } || leave_alone }
  get(:changes) { CHANGES }
end

run Ladders
