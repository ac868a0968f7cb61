# frozen_string_literal: true

require_relative "../accepting"
require_relative "../batch"
require_relative "../segment_message"
require_relative "support"

module Stats
  module Endpoints
    # The routes of Segment's HTTP Tracking API, so that its libraries only need another host. As in Segment's own, the response
    # is 200 for everything accepted, and 400 for what is too large or not JSON.
    class Segment < Elah::API
      format :json
      helpers Support, Accepting
      Parameters.accept_bodies(self)

      helpers do
        # @return [Hash]
        def message
          body = Body.read(request, service.inflated_bytes_max)
          SegmentMessage.check_size(body, request.route_param("type"))
          value = Parameters.json(body)
          value.is_a?(Hash) ? value : raise(Refused.new("not_an_object", "A message must be a JSON object.", 400))
        end

        def accept_message(type, message)
          one = SegmentMessage.new(type, message)
          key = admit(1, offered: one.write_key)
          sender = Sender.of(request, service)
          receipt = service.sink.push(one.event(sender, request.path), stream: key&.name, id: one.id(key), **preference(service))
          service.live_counters.count(one.path || request.path)
          respond(200, { success: true }, receipt)
        end

        def accept_messages(message)
          list = message["batch"]
          raise Refused.new("invalid_batch", "batch must be a list of messages.", 400) unless list.is_a?(Array) && list.any?

          key = admit(offered: message["writeKey"]&.to_s)
          batch = Batch.new(list, service.batch_events_max, id: "messageId")
          batch.refuse { |item| SegmentMessage.fault(item) }
          receipt = accept_batch(batch, key) do |sender, item|
            SegmentMessage.new(item["type"], item, message).event(sender, request.path)
          end
          refused = batch.refusals.map { |refusal| refusal.except(:status) }
          respond(200, refused.empty? ? { success: true } : { success: batch.rejected < batch.size, rejected: refused }, receipt)
        end
      end

      desc "Records a message of Segment's libraries: track, page, screen, identify, group, alias or a batch of them"
      post "v1/:type", raw: true do
        type = request.route_param("type")
        next accept_messages(message) if type == "batch"

        error!("There is no message of the type #{type}.", 404, cors, code: "not_found") unless SegmentMessage::TYPES.include?(type)
        accept_message(type, message)
      end
    end
  end
end
