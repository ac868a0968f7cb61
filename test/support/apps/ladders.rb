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

  CHANGES = []

  # @raise [StandardError, NotImplementedError] what an app may do wrong
  def responder
    raise "no responder today" if key == "failing"
    raise NotImplementedError, "nobody has written it" if key == "unwritten"

    @responder
  end
  alias submission_responder responder

  def restore
    @set = Elah::RankedSet.load(Ladder.all.index(:rows), prefix: key, members_max: MEMBERS_MAX)
    @responder = Elah::RankedSet::Responder.new(@set, headers: { "content-type" => "application/json" }, list: ['{"size":', ',"rows":', "}"],
                                                      member_bytes_max: 10, index: index(:rows), prefix: key, operator: :best, members_max: MEMBERS_MAX,
                                                      changed: ->(text) { note(text) })
  end

  def open = nil

  private

  def note(text)
    CHANGES << text
    raise "an odd change" if text.include?("odd")
  end
end

Ladder.all = Ladder.in(Elah::Store.open(File.join(Elah.config.data, "ladders")))

class Ladders < Elah::API
  Answers = Elah::RankedSet::EntityResponder
  KEY = ENV["LADDERS_KEY"] && Elah::ApiKey.new(ENV["LADDERS_KEY"])

  format :json

  helpers do
    def leave_alone = request.respond(202, {}, "left alone")
  end

  post("ladders/:id") { Ladder.all[params[:id]].open }
  get("ladders/:id/top", raw: true, responder: Answers.top(Ladder.all, 2)) { leave_alone }
  get("ladders/:id/:member", raw: true, responder: Answers.row(Ladder.all)) { leave_alone }
  get("ladders/:id/:member/around", raw: true, responder: Answers.around(Ladder.all, 1)) { leave_alone }
  put("ladders/:id/:member", raw: true, late_body: true, responder: -> { Answers.submission(Ladder.all, api_key: KEY) }) { leave_alone }
  get(:changes) { Ladder::CHANGES }
end

run Ladders
