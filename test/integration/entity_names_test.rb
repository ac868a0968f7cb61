# frozen_string_literal: true

require "test_helper"
require "json"
require "support/supervised_case"

# Entities of a server with two workers, whose methods have the names of those of every object.
class EntityNamesServerTest < Minitest::Test
  include SupervisedCase

  APP = <<~RUBY
    class Room < Elah::Entity
      def restore = @texts = state.each.map(&:last)

      def send(text)
        state.put(@texts.size.to_s, text)
        @texts << text
      end

      def freeze = @texts.empty? ? "nothing was said" : "frozen"
    end

    ROOMS = Room.in(Elah::Store.at(Elah.config.state))

    class Api < Elah::API
      format :json
      post("/rooms/:id") { { texts: ROOMS[params[:id]].send(params[:text]) } }
      get("/freeze/:id") { { here: Process.pid, answer: ROOMS[params[:id]].freeze } }
    end

    run Api
  RUBY

  # `send` called the method of the reference that a client had named: "exit" ended the request by a SystemExit.
  def test_send_of_an_entity_is_a_call_in_each_worker
    supervised(APP) do |server|
      20.times do |room|
        answer = server.request("POST", "/rooms/#{room}?text=exit")
        assert_equal({ "texts" => ["exit"] }, JSON.parse(answer.body))
      end
      answers = Array.new(40) { |n| JSON.parse(server.get("/freeze/#{n % 20}").body) }
      assert_equal ["frozen"], answers.map { |answer| answer["answer"] }.uniq
      assert_equal 2, answers.map { |answer| answer["here"] }.uniq.size, "both workers have called"
    end
  end
end
