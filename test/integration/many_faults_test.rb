# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# A list without one valid item costs about what a valid one costs. Each fault was told: a body of 2 MB held the loop
# for more than 20 s.
class ManyFaultsTest < Minitest::Test
  APP = <<~'RUBY'
    class App < Elah::API
      format :json
      params do
        requires :lines, type: Array do
          requires :id, type: Integer
          requires :name, type: String, length: { max: 3 }
        end
      end
      post(:lines) { params[:lines].size }

      params do
        requires :lines, type: Array do
          optional :id
          optional :name
          exactly_one_of :id, :name
        end
      end
      post(:groups) { params[:lines].size }
    end

    run App
  RUBY

  ITEMS = 50_000

  def test_a_request_is_told_of_a_bounded_number_of_faults
    ElahServer.start(APP) do |server|
      server.connect do |client|
        { "1" => "[id] is missing",
          "{}" => "[id] is missing",
          '{"id":"x","name":"abcd"}' => "[id] is invalid" }.each do |item, fault|
          answer = post(client, Array.new(ITEMS, item))
          faults = answer.json["error"].split(", ")
          assert_equal [400, 1000, "lines[0]#{fault}", "lines[999]#{fault}"],
                       [answer.status, faults.size, faults.first, faults.last], item
        end
        answer = post(client, Array.new(ITEMS, '{"id":1,"name":"abc"}'))
        assert_equal [201, ITEMS], [answer.status, answer.json]
        # The last of a list is judged, too.
        assert_equal "lines[#{ITEMS}][id] is invalid",
                     post(client, [*Array.new(ITEMS, '{"id":1,"name":"abc"}'), '{"id":"x","name":"abc"}']).json["error"]
      end
    end
  end

  # Rules about several parameters had no limit: 900 kB of `{}` held the loop for tens of seconds.
  def test_faults_of_rules_about_several_parameters_are_bounded_too
    ElahServer.start(APP) do |server|
      server.connect do |client|
        answer = post(client, Array.new(ITEMS, "{}"), "/groups")
        assert_equal 400, answer.status
        assert_equal 1000, answer.json["error"].scan("exactly one parameter").size
        answer = post(client, Array.new(ITEMS, '{"id":1}'), "/groups")
        assert_equal [201, ITEMS], [answer.status, answer.json]
      end
    end
  end

  private

  def post(client, items, path = "/lines")
    body = "{\"lines\":[#{items.join(',')}]}"
    client.write("POST #{path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" \
                 "Content-Length: #{body.bytesize}\r\n\r\n#{body}")
    client.read_answer
  end
end
