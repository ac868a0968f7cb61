# frozen_string_literal: true

require_relative "sender"

module Stats
  # Owns how an endpoint gives events to the sink, as safely as the request prefers, and which durability it says was met. Mixed into endpoints.
  module Accepting
    JSON_TYPE = { "content-type" => "application/json", "access-control-allow-origin" => "*" }.freeze
    HEADERS = Elah::HeaderSet.new(JSON_TYPE)
    ANSWERS = %i[memory disk delivered].to_h { |durability| [durability, %({"durability":"#{durability}"})] }.freeze
    # One request in so many is timed.
    TIMED = 16

    # Records one event and answers.
    #
    # @param type [String]
    # @param params [Hash{String=>Object}]
    def accept(type, params)
      service = Stats.service
      sender = Sender.of(request, service)
      path = request.path
      event = sender.event(type, path, params)
      prefer = request.header("prefer")
      return accept_as_preferred(service, event, prefer) unless prefer.nil? && service.durability == :memory

      append(service.sink, event)
      service.pulse.accepted(Stats.named_path(event))
      request.respond(200, HEADERS, ANSWERS[:memory])
    end

    private

    def append(sink, event)
      sink << event
    rescue Elah::JSON::GenerateError
      sink << Sender.scrub(event)
    end

    def accept_as_preferred(service, event, prefer)
      receipt = push(service.sink, event, Elah::Sink::Preference.of(prefer, default: service.durability))
      service.pulse.accepted(Stats.named_path(event))
      return request.respond(200, HEADERS, ANSWERS[receipt.durability]) unless prefer

      request.respond(200, { **JSON_TYPE, "preference-applied" => "durability=#{receipt.durability}" },
                      %({"durability":"#{receipt.durability}","id":"#{receipt.id}"}))
    end

    def push(sink, event, preference)
      sink.push(event, **preference)
    rescue Elah::JSON::GenerateError
      sink.push(Sender.scrub(event), **preference)
    end
  end
end
